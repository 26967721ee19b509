"""A bag, run through the engine without real time, made into numbers and curves. No rclpy."""
