import pytest

from whence.langs.python.trace.summary_text import readable_summary
from whence.langs.python.trace.trace_tables import TypeEntry


@pytest.mark.parametrize(
    ("module", "text", "shown"),
    [
        ("datetime", "datetime.datetime(2024, 5, 1, 0, 0)", "datetime(2024, 5, 1, 0, 0)"),
        (
            "datetime",
            "datetime.time(3, tzinfo=datetime.timezone.utc)",
            "time(3, tzinfo=timezone.utc)",
        ),
        ("pathlib", "PosixPath('/a/PosixPath')", "Path('/a/PosixPath')"),
        ("pathlib._local", "PurePosixPath('a')", "PurePosixPath('a')"),
        ("numpy", "array([1, 2], dtype='<i8')", "array([1, 2], dtype=int64)"),
        ("numpy", "array([1, 2], dtype='>i8')", "array([1, 2], dtype='>i8')"),
        ("numpy", "array([1, 2], shape=(1, 2), dtype='<f4')", "array([[1, 2]], dtype=float32)"),
        ("numpy", "array([], shape=(0, 2), dtype='<f8')", "array([], dtype=float64)"),
        ("numpy", "array([5], shape=(), dtype='<i8')", "array(5, dtype=int64)"),
        ("numpy", "array([1, 2], shape=(7, 2), dtype='<f4')", None),
        ("numpy", "array([x(], shape=(1,), dtype='<f4')", None),
        ("numpy", "float64(4.0)", "float64(4.0)"),
        ("decimal", "Decimal('1.5')", "Decimal('1.5')"),
    ],
)
def test_a_summary_is_shown_as_a_person_writes_it(module, text, shown):
    kind = TypeEntry(module, "X", 0)
    expected = text.replace("'<f4'", "float32") if shown is None else shown
    assert readable_summary(kind, text, complete=True) == expected


def test_what_is_not_all_there_says_so_once():
    kind = TypeEntry("m", "X", 0)
    assert readable_summary(kind, "<re.Match 'a'>", complete=False) == "<re.Match 'a'> …"
    assert readable_summary(kind, "deque([1, …9 more])", complete=False) == "deque([1, …9 more])"
