"""The demo: simulated robot and node as separate processes, watched from a third."""
