"""One self-contained page about a run: what was commanded, planned and said, and how long it took. No rclpy."""
