"""Training of small models: demonstrations, losses, the run. No rclpy."""
