"""Starting debuggee processes: with an order, streams, signals and limits."""
