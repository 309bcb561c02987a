"""Where values came from: the origins of marked parts, and the calls that could have made them.

`art` is the Augmented Redex Trail, the trace graph that the papers slice; `art_file` reads it,
`art_slice` slices it, `art_value` and `art_tree` turn it into values and into an execution tree,
`art_provenance` answers the `Provenance` port from it. `in_file` answers the same port from what a
tree file says of origins.

[S] is Silva & Chitil, *Combining Algorithmic Debugging and Program Slicing*, PPDP 2006; [C] is
Silva, *A Classification of Algorithmic Debugging Strategies*, 2006, whose appendix repeats the
graph. Nothing here knows verdicts, strategies or a debugged language.
"""
