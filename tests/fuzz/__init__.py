"""Programs that feed broken input to the readers; `python -m tests.fuzz.NAME --help`."""
