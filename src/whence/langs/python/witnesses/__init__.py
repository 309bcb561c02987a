"""What the tests of a project that pass say about one that fails."""
