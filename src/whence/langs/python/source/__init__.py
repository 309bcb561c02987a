"""One model of program text: what a Python source says, read and never run.

Scopes, bindings, definitions, liveness, assertions, the call graph and digests of code. Whoever
needs to know what a name means in a source asks here. This package knows no recordings' trees and
no sessions.
"""
