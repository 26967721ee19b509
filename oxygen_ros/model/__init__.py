"""pi0.5 in torch: vision tower, trunk, action expert, sizes and checkpoints. No rclpy."""
