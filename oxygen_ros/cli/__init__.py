"""The verbs of `python -m oxygen_ros`, one a module; each has `add_arguments(parser)` and `run(arguments)`."""
