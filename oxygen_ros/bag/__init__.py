"""Rosbag2 bags: record, read and play them without rosbag2 installed. Only `record` and `play` import rclpy."""
