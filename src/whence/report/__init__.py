"""A diagnosis in the form that its reader wants: text for people, JSON for programs."""
