"""Oracles: what can judge calls besides the person. One oracle a file."""
