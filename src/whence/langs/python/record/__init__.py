"""Recording a Python program into a trace file (docs/trace-format.md), as a guest in it."""
