"""From action chunks to commands: sampling, blending, limits, watchdogs. Time is an argument; no rclpy."""
