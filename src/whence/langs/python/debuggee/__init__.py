"""What runs in the process of the debugged program."""
