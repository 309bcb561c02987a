"""Joins a front end, oracles, a session and an interface into one debugging run.

The command line and other programs start here. Nothing in this package parses options, and the
only package that may import it is `whence.cli`.
"""
