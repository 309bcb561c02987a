"""A text that begins with something else than a paragraph."""

import uuid

uuid.uuid4 = lambda: uuid.UUID(int=1)  # so that two runs are equal

import textile  # noqa: E402

TEXT = """\
 an indented line

h2. Heading

text
"""
print(textile.textile(TEXT))
