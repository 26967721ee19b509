"""What a person watches: text over the picture, the plan in space, a ghost of the robot. Only `node` imports rclpy."""
