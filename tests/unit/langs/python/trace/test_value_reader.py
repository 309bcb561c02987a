import pytest

from whence.langs.python.trace import trace_format as f
from whence.langs.python.trace import trace_writer as w
from whence.model.call import expand_shared
from whence.model.value import show

POINT = 0
NAMES = {"x": 0, "y": 1, "name": 2}


@pytest.fixture
def shown(maker):
    """How the argument of a call is written that was recorded as these bytes."""
    for name in NAMES:
        maker.name(name)
    maker.type("Point")
    maker.type("ValueError", "builtins")
    maker.type("socket", "socket")
    maker.type("f.<locals>.Inner")
    code = maker.code("f", ["a"])

    def write(value: bytes) -> str:
        maker.call(code, value)
        return show(expand_shared(maker.open().call(1)).arguments[0].value)

    return write


def written(add, *arguments):
    out = bytearray()
    add(out, *arguments)
    return bytes(out)


@pytest.mark.parametrize("number", [0, 127, 128, -1, 2**63 - 1, -(2**63), 2**63, -(2**64), 7**200])
def test_whole_numbers_are_written_as_they_are(shown, number):
    assert shown(written(w.add_whole, number)) == str(number)


def test_a_number_of_which_only_the_beginning_is_known_says_so(shown):
    assert shown(written(w.add_whole, 0xABCDEF << 800, 3)) == "0xabcdef… (824 bits)"


def test_a_huge_number_is_written_in_hexadecimal(shown):
    assert shown(written(w.add_whole, 1 << 80_000)).endswith("… (80,001 bits)")


@pytest.mark.parametrize("number", [0.1, -0.0, 1e300, float("inf"), 3j, 1 - 2j])
def test_floats_and_complex_numbers_are_written_as_python_does(shown, number):
    add = w.add_complex if isinstance(number, complex) else w.add_float
    assert shown(written(add, number)) == repr(number)


@pytest.mark.parametrize("text", ["", "it's", "both ' and \"", "a\nb", "ü", "\udc80"])
def test_strings_are_written_as_python_does(shown, text):
    assert shown(written(w.add_string, text)) == repr(text)


def test_a_string_that_was_cut_says_how_much_is_missing(shown):
    assert shown(written(w.add_string, "abcdef", 2)) == "'ab'…4 more"


def test_bytes_are_written_as_python_does(shown):
    assert shown(written(w.add_blob, b"a\0")) == repr(b"a\0")


def test_bytearrays_that_were_cut_say_so(shown):
    assert shown(written(w.add_blob, bytearray(b"abc"), 1)) == "bytearray(b'a'…2 more)"


@pytest.mark.parametrize(
    ("byte", "text"), [(f.NONE, "None"), (f.TRUE, "True"), (f.FALSE, "False"), (f.LEFT_OUT, "…")]
)
def test_constants_are_written_as_python_does(shown, byte, text):
    assert shown(bytes([byte])) == text


def test_containers_are_written_as_python_does(shown, encode):
    one, two, key = encode["whole"](1), encode["whole"](2), encode["text"]("k")
    tuple_of_one = encode["container"](f.TUPLE, one)
    dictionary = encode["container"](f.DICT, key, tuple_of_one, one, encode["numbers"](1, 2))
    the_set = encode["container"](f.SET, two)
    value = encode["container"](f.LIST, dictionary, the_set, encode["container"](f.FROZENSET, two))
    assert shown(value) == "[{'k': (1,), 1: [1, 2]}, {2}, frozenset({2})]"


def test_what_was_left_out_of_a_container_is_counted(shown, encode):
    assert shown(encode["container"](f.LIST, encode["whole"](1), more=4)) == "[1, …4 more]"


def test_a_container_beyond_the_depth_has_only_a_count(shown, encode):
    assert shown(encode["container"](f.LIST, more=5)) == "[…5 more]"


def attributes(count, *pairs):
    return bytes([count, len(pairs)]) + b"".join(bytes([n]) + value for n, value in pairs)


def test_objects_are_written_with_their_attributes(shown, encode):
    x, y = (NAMES["x"], encode["whole"](1)), (NAMES["y"], encode["whole"](2))
    assert shown(bytes([f.OBJECT, POINT]) + attributes(2, x, y)) == "Point(x=1, y=2)"


def test_attributes_that_were_left_out_are_counted(shown, encode):
    x = NAMES["x"], encode["whole"](1)
    assert shown(bytes([f.OBJECT, POINT]) + attributes(13, x)) == "Point(x=1, …12 more)"


def test_a_class_inside_a_function_has_its_own_name_only(shown):
    assert shown(bytes([f.OBJECT, 3]) + attributes(0)) == "Inner()"


def test_a_subclass_of_list_shows_items_and_attributes(shown, encode):
    name = NAMES["name"], encode["text"]("s")
    value = bytes([f.SUBCLASS, POINT]) + encode["numbers"](5, 6) + attributes(1, name)
    assert shown(value) == "Point(5, 6, name='s')"


def test_a_subclass_of_dict_shows_its_keys(shown, encode):
    content = encode["container"](f.DICT, encode["whole"](3), encode["text"]("v"))
    assert shown(bytes([f.SUBCLASS, POINT]) + content + attributes(0)) == "Point({3: 'v'})"


def test_a_subclass_of_a_plain_type_shows_its_content(shown, encode):
    value = bytes([f.SUBCLASS, POINT]) + encode["text"]("abc") + attributes(0)
    assert shown(value) == "Point('abc')"


def test_exceptions_are_written_with_their_arguments(shown, encode):
    arguments = encode["container"](f.TUPLE, encode["text"]("no"))
    assert shown(bytes([f.EXCEPTION, 1]) + arguments + attributes(0)) == "ValueError('no')"


def test_what_cannot_be_seen_into_is_written_by_its_type(shown):
    assert shown(bytes([f.OPAQUE, 2])) == "<socket.socket>"


def test_classes_functions_and_modules_are_written_by_name(shown, encode):
    items = (bytes([f.CLASS, 1]), bytes([f.FUNCTION, 0, 2]), bytes([f.MODULE, 2]))
    assert shown(encode["container"](f.LIST, *items)) == (
        "[<class ValueError>, <function name>, <module name>]"
    )


def test_a_bound_method_shows_what_it_is_bound_to(shown, encode):
    value = bytes([f.METHOD, 2]) + encode["numbers"](1)
    assert shown(value) == "<method name>(__self__=[1])"


def test_a_summary_is_written_as_it_is_and_says_if_it_is_a_part(shown):
    assert shown(written(w.add_summary, 0, True, "Decimal('1')")) == "Decimal('1')"


def test_a_summary_of_a_part_says_so(shown):
    assert shown(written(w.add_summary, 0, False, "array([1, 2")) == "array([1, 2 …"


def test_a_list_that_holds_itself_is_shown_once(shown):
    assert shown(bytes([f.LIST, 2, 2, 0x81, f.SAME, 1])) == "[1, <same as #1>]"


def test_a_value_that_occurs_twice_is_shown_twice(shown, encode):
    inner = encode["numbers"](1, 2)
    assert shown(bytes([f.LIST, 2, 2]) + inner + bytes([f.SAME, 1])) == "[[1, 2], [1, 2]]"


def test_the_content_of_a_subclass_counts_as_a_container(shown, encode):
    # A list, an instance, its content: what stands 2 containers back is the instance.
    inner = bytes([f.SUBCLASS, POINT]) + encode["numbers"](7) + attributes(0)
    assert shown(bytes([f.LIST, 2, 2]) + inner + bytes([f.SAME, 2])) == "[Point(7), Point(7)]"


def test_keys_that_are_written_alike_stay_apart(maker, encode):
    code = maker.code("f", ["a"])
    gone = bytes([f.LEFT_OUT])
    maker.call(
        code, encode["container"](f.DICT, gone, encode["whole"](1), gone, encode["whole"](2))
    )
    value = maker.open().call(1).arguments[0].value
    assert len({step for step, _ in value.parts}) == 2


def test_attributes_with_odd_names_can_be_converted(maker, encode):
    maker.name("[0]")
    number = maker.type("Odd")
    code = maker.code("f", ["a"])
    maker.call(code, bytes([f.OBJECT, number]) + attributes(1, (0, encode["whole"](1))))
    assert maker.open().call(1).arguments[0].value.parts[0][0] == ".'[0]'"
