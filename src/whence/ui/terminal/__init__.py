"""The terminal interface: one question loop, on a plain screen or on a fancy one.

`loop.converse` holds a session; `screen_choice.choose_screen` chooses the screen.
"""
