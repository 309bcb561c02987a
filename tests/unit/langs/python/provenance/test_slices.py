"""That the harness which looks for calls missing from a slice does find them."""

from __future__ import annotations

import textwrap

from perturbed import Mark, check

PROGRAM = textwrap.dedent(
    """
    class R:
        def __init__(self, n): self.n = n
    def read(): return " bob "
    def should(r): return False
    def clean(r):
        if should(r): r.n = r.n.strip()
    def other(): return 3
    def main():
        r = R(read())
        clean(r)
        other()
        return r
    main()
    """
)
MARK = Mark((("main", 0),), (("attribute", "n"),))


def test_a_call_that_could_have_changed_the_object_is_missing_from_the_narrow_slice() -> None:
    found = check(PROGRAM, MARK, width=1)
    assert any(each.startswith("clean ") and "(heap)" in each for each in found.violations)


def test_no_call_that_matters_is_missing_from_the_wide_slice() -> None:
    found = check(PROGRAM, MARK, width=3)
    assert found.violations == ()
    assert found.tried == 2, "the call that is outside was tried in both ways"
