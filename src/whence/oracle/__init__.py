"""Oracles: whoever may know an answer besides the person. One oracle a file."""
