"""Aids for tests of whence and of its plugins.

Random trees with a known fault, an answerer that knows the fault, and the laws of the ports.
"""
