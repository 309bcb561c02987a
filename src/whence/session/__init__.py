"""The session: a pure step from (state, event) to the next state and what to do about it.

It does no input or output. Terminals, pages, test runners and agents are loops around `step`;
there is one question loop in whence, never a second.
"""
