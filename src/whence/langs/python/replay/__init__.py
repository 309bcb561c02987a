"""Runs a recorded program again, to learn what its recording does not say."""
