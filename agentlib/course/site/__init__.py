"""The course as a folder of static files, for a browser: built by `python -m agentlib site OUT`."""
