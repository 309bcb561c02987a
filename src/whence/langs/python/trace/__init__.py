"""The trace file (docs/trace-format.md): reading what was recorded, as a tree."""
