"""How likely each call is to be at fault before anybody is asked: by tests, and for imports."""
