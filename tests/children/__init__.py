"""What starts Python processes for a learner's code: `check` in a terminal, the grader and its folder."""
