"""How likely each call is to be at fault before anybody is asked: from tests and from imports."""
