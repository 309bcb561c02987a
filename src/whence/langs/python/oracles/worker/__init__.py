"""A process that holds one version of a program and makes single calls in it.

Runs apart from the debugger, which never runs the program's code itself. What it is told comes as
lines of JSON; what came of a call goes into a trace.
"""
