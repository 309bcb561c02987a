"""Strategies: which call to ask about next. One strategy a file; `registry` knows them by name.

A strategy sees a program only through `whence.ports.Suspects`. Any of them may be chosen at any
moment of a session: they keep no state of their own.
"""
