"""The session protocol: what another program and a session of whence say to each other.

Its messages are frozen dataclasses, so their annotations are the schema (`schema.py`) and a wrong
message is refused with the path of what is wrong. `docs/protocol.md` is the manual.

This package owns the messages and how calls and values become messages. It knows nothing of
sockets, files or open sessions: those are `whence.app`'s.
"""
