"""What a call does, noted in one run of a program and played in another instead of the call."""
