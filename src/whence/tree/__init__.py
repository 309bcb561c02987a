"""Execution trees: columns, how they are built, kept in files and made larger.

Nothing here knows verdicts, strategies or a debugged language.
"""
