"""Measurements of the engine against its baselines and against the machine's own limits."""
