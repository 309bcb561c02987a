from whence.langs.python.trace.standard_output import (
    MOST_LINES,
    NOT_COUNTED,
    TOO_MANY,
    PrintedLine,
    split_lines,
)


def test_a_line_knows_all_who_wrote_it_and_the_next_one_begins_after_its_end():
    pieces = [(1, "a"), (2, "b"), (1, "c\nd"), (3, "\n"), (4, "\ne")]
    assert split_lines(pieces).lines == (
        PrintedLine("abc", (1, 2)),
        PrintedLine("d", (1, 3)),
        PrintedLine("", (4,)),
        PrintedLine("e", (4,)),
    )


def test_only_a_newline_ends_a_line():
    assert [line.text for line in split_lines([(1, "a\rb\x0bc\u2028d\n")]).lines] == [
        "a\rb\x0bc\u2028d"
    ]


def test_nothing_was_printed():
    assert split_lines([]).lines == ()
    assert split_lines([(1, "")]).lines == ()


def test_behind_a_text_that_was_cut_off_no_line_has_a_number():
    long = "x\n" * 5_000 + "y" * 2 + "…70 more characters\n"
    found = split_lines([(1, "first\n"), (2, long), (3, "after\n")])
    assert len(found.lines) == 5_002
    assert found.lines[-1] == PrintedLine("yy", (2,))
    assert found.rest == NOT_COUNTED


def test_a_program_may_print_what_looks_like_a_text_that_was_cut_off():
    found = split_lines([(1, "…70 more characters\n"), (1, "b\n")])
    assert [line.text for line in found.lines] == ["…70 more characters", "b"]
    assert found.rest == ""


def test_a_very_long_output_is_read_up_to_a_bound():
    found = split_lines((1, "x\n" * 1000) for _ in range(200))
    assert len(found.lines) == MOST_LINES
    assert found.rest == TOO_MANY
