"""Makes test/checkpoints.py importable from every test folder."""
