"""What rewritten code calls: it computes the program's values and works out their tags.

Invariant: the value comes first, computed as the program would; the tag is added afterwards and is
never visible to the program.
"""
