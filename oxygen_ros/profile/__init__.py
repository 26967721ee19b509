"""What a checkpoint was trained with: views, joints, prompt, normalisation, action kind. No rclpy."""
