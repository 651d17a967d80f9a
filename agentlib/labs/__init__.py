"""The labs: one module a scenario, each with a goal, tools, a scripted model and what must come out."""
