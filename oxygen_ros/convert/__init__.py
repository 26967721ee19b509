"""Messages to arrays and back, the same for live topics and bags. Takes message-like objects; no rclpy."""
