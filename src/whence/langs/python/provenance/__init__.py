"""Where a value came from: a program whose expressions carry tags beside their values.

The text of a program is rewritten (`rewriting`) so that every expression gives a value and a tag,
and run with `runtime`, which makes the tags. `origin` and `slices` read them. The program computes
what it computes without: a tag is never looked at by it.
"""
