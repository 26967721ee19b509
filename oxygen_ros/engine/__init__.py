"""The frame engine: one shared prefill, actions first, language streams decoded together across frames. No rclpy."""
