"""A process that holds one version of a program and makes single calls in it.

The debugger never runs the program's code itself. It sends requests as lines of JSON; the worker
records each call in a trace.
"""
