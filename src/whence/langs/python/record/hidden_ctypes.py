"""`ctypes`, for the recorder in Python: imported so that its open file has a high number.

From its version 3.5 on, libffi keeps a file open once `ctypes` has been imported. The program must
not get another number for its own files because of it, so no other module of the recorder imports
`ctypes` itself.
"""

from __future__ import annotations

from whence.langs.python.record.high_descriptors import low_numbers_taken

with low_numbers_taken():
    import ctypes

__all__ = ["ctypes"]
