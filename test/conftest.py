"""Makes test/checkpoints.py importable from every test folder, and MuJoCo draw without a screen, whoever imports it."""
import os

os.environ.setdefault('MUJOCO_GL', 'egl')
