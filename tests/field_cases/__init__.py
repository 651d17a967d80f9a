"""The field cases: what breaks agent loops in production, one file a kind, each at its exact boundary."""
