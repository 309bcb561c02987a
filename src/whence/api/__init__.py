"""The Python interface: what `import whence` offers to programs. `docs/api.md` is its manual.

Small and typed: every name of it is listed in `whence.__all__`, which a test guards. It stands
above everything else, and nothing of it is loaded before it is asked for.
"""
