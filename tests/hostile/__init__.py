"""Submissions that cheat, break things or are only unlucky, and the tests that each gets its true grade."""
