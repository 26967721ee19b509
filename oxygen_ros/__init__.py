"""Runs the pi0.5 vision-language-action model on a ROS 2 robot; node code and generated messages."""

__version__ = '0.1.0'
