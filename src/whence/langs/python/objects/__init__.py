"""One model of live Python objects: what each kind holds, how to read, write, walk and digest it.

Invariant: no method that the program defines runs: no `__repr__`, `__eq__`, `__hash__`, property,
`__getattr__` or metaclass method. The exceptions are documented where they are made.
"""
