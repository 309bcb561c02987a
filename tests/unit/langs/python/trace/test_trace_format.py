import struct

import pytest

from whence.langs.python.trace import trace_format as f
from whence.langs.python.trace import trace_writer as w
from whence.langs.python.trace.trace_format import (
    MalformedTrace,
    lz4_decoded,
    read_text,
    read_v,
    read_z,
)


@pytest.mark.parametrize("number", [0, 1, 127, 128, 300, 2**32, 2**63, 2**64 - 1])
def test_unsigned_numbers_are_read_back(number):
    out = bytearray(b"x")
    w.add_v(out, number)
    assert read_v(bytes(out), 1) == (number, len(out))


@pytest.mark.parametrize("number", [0, -1, 1, -64, 64, 2**63 - 1, -(2**63)])
def test_signed_numbers_are_read_back(number):
    out = bytearray()
    w.add_z(out, number)
    assert read_z(bytes(out), 0) == (number, len(out))


@pytest.mark.parametrize("data", [b"", b"\x80", b"\xff" * 9 + b"\x02", b"\xff" * 20])
def test_a_number_that_breaks_off_or_is_too_large_is_refused(data):
    with pytest.raises(MalformedTrace):
        read_v(data, 0)


def test_a_text_longer_than_the_data_is_refused():
    with pytest.raises(MalformedTrace, match="breaks off"):
        read_text(b"\x05abc", 0)


def test_a_text_that_is_not_utf8_is_refused():
    with pytest.raises(MalformedTrace, match="UTF-8"):
        read_text(b"\x01\xff", 0)


def test_unpaired_surrogates_are_texts():
    out = bytearray()
    w.add_text(out, "a\udc80")
    assert read_text(bytes(out), 0)[0] == "a\udc80"


def test_lz4_literals_and_matches_are_unpacked():
    # Five literals, then a match of 4 + 5 at distance 3, which repeats what it makes.
    block = bytes([0x55]) + b"abcde" + struct.pack("<H", 3) + bytes([0x10]) + b"!"
    assert lz4_decoded(block, 15) == b"abcde" + b"cdecdecde" + b"!"


def test_long_lz4_literals_have_their_length_in_further_bytes():
    data = bytes(range(256)) * 2
    block = bytes([0xF0, 255, 512 - 15 - 255]) + data
    assert lz4_decoded(block, 512) == data


@pytest.mark.parametrize(
    "block",
    [
        b"\x50abc",  # literals that are not there
        b"\x10a\x05\x00",  # a match before the start
        b"\x10a\x00\x00",  # a match at distance 0
        b"\x1fa\x01\x00\xff\xff\x00",  # more than was asked for
        b"\xf0\xff",  # a length that breaks off
        b"\x10a\x01",  # half a distance
    ],
)
def test_a_block_that_is_none_is_refused(block):
    with pytest.raises(MalformedTrace):
        lz4_decoded(block, 20)


@pytest.mark.parametrize("length", [4, 6])
@pytest.mark.parametrize("codec", [f.PLAIN, f.ZLIB])
def test_a_page_of_another_length_than_it_says_is_refused(codec, length):
    import zlib

    stored = zlib.compress(b"12345") if codec == f.ZLIB else b"12345"
    assert f.decode_page(codec, stored, 5) == b"12345"
    with pytest.raises(MalformedTrace):
        f.decode_page(codec, stored, length)


def test_an_unknown_codec_is_refused():
    with pytest.raises(MalformedTrace, match="does not know"):
        f.decode_page(9, b"", 0)


def test_digests_tell_contents_and_lengths_apart():
    contents = [b"", b"\0", b"\0" * 8, b"\0" * 9, b"a" * 8, b"a" * 7 + b"b", b"b" + b"a" * 7]
    assert len({f.digest_of(each, 0, len(each)) for each in contents}) == len(contents)


def test_a_digest_is_of_the_part_only():
    assert f.digest_of(b"xxabcyy", 2, 5) == f.digest_of(b"abc", 0, 3)
