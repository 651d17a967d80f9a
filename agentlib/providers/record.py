"""Where the first form of the course had its recordings; saved notebooks still import them from here."""

from agentlib.course.record import RECORDINGS, load_recordings, models_of, record_runs

__all__ = ["RECORDINGS", "load_recordings", "models_of", "record_runs"]
