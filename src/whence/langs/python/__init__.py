"""Python programs: recording them, and reading what was recorded."""
