"""The files that sessions leave: their logs and the answers that a project remembers.

Files and locks only: what a log entry or an answer means is decided by `session` and `oracle`.
"""
