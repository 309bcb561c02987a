"""Inside one call: its statements as a tree of steps, each judged by what was before and after it.

`body` is the text of a function, numbered; `instrumenting` and `watching` belong to the program's
process, where one call tells each step that it makes; `told` is what it told, `execution` the same
as a tree; `variables` says which variables matter to a step, `wording` what is said of it; `steps`
is the tree that is searched. `provenance` says which step set a part of a variable and which could
have, by `actions`, `histories`, `copies` and `step_slices`.
"""
