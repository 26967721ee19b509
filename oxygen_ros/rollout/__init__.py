"""Closed-loop evaluation on the simulated task. The in-process loop needs no rclpy."""
