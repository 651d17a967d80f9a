"""The words that a player and the learner's functions agree on, wherever these live."""

__all__ = ["CALL", "TOO_LONG", "TOO_OFTEN"]

CALL = "$call"
"""In a request, {"$call": NAME} stands for a function that the player plays."""

TOO_OFTEN = "asked too often"
TOO_LONG = "ran too long"
