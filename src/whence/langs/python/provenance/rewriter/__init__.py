"""Rewrites a program's text so that each expression computes a tag beside its value.

Knows syntax only. What the rewritten code calls is in `runtime`.
"""
