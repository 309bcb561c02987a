"""Oracles that know Python: what its declarations and other versions of a program say of a call."""
