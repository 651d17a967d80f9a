"""Runs a learner's code: all that a process in the sandbox is given of the course. It knows no exercise."""
