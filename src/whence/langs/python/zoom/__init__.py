"""Inside one call: its statements as a tree of steps, each judged by the state before and after it.

`function_body` numbers the statements of a function. `instrumentation` and `step_recorder` run in
the debugged process, where one call logs each step that it makes. `step_log` reads that log and
`segments` turns it into a tree. `step_variables` says which variables matter to a step,
`step_source` what is asked about it; `step_tree` is the tree that is searched. `step_provenance`
says which step set a part of a variable and which could have, with `actions`, `assignment_history`,
`copied_parts` and `step_slices`.
"""
