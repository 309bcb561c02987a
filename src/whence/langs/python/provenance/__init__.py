"""Where values come from: a program whose expressions compute tags beside their values.

`rewriter` rewrites the program so that every expression gives a value and its tag. The rewritten
program runs with `runtime`, which makes the tags. `value_origins` and `influence_slices` read them.
The program computes what it would compute without tags, and never sees one.
"""
