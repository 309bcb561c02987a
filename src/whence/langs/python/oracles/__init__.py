"""Who may know an answer about a Python call: a reference version, contracts beside the code."""
