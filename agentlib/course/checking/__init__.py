"""The engine that checks: plays the model and the tools, and judges by what they saw."""
