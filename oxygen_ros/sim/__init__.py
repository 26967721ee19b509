"""The ALOHA scene as a ROS 2 robot, for the demo and the tests."""
