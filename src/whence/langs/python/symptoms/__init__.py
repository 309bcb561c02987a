"""What a symptom means in a recording: the calls that it says are wrong."""
