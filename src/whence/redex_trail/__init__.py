"""Augmented Redex Trails: traces of functional programs as graphs.

`art` is the graph that the papers slice; `art_file` reads it, `art_value` and `art_tree` turn it
into values and into an execution tree, `art_slice` finds what could have influenced a value, and
`art_provenance` answers the `Provenance` port from all that.

[S] is Silva & Chitil, *Combining Algorithmic Debugging and Program Slicing*, PPDP 2006; [C] is
Silva, *A Classification of Algorithmic Debugging Strategies*, 2006, whose appendix repeats the
graph. Nothing here knows verdicts, strategies or a debugged language.
"""
