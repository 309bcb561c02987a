/* Values without parts: numbers, texts and bytes. The short ones of them, which are most of all
 * values, are written by atom_at in snapshot.h. */
#include "encoding.h"

/* How much of a text of this length is written. */
static inline Py_ssize_t text_stored(const Snapshot *s, Py_ssize_t length)
{
    Py_ssize_t limit = s->bound->text;
    if (unlikely(length > SHORT_TEXT && s->out->length - s->start > LARGE_ROOT) &&
        limit > SHORT_TEXT) {
        limit = SHORT_TEXT;
    }
    return likely(length <= limit) ? length : limit;
}

void write_large(Snapshot *s, PyObject *number)
{
    const digit *digits = number_digit(number);
    Py_ssize_t count = number_digits(number);
    uint64_t bits = (uint64_t)(count - 1) * PyLong_SHIFT;
    for (digit top = digits[count - 1]; top != 0; top >>= 1) {
        bits++;
    }
    uint64_t bytes = (bits + 7) / 8;
    uint64_t stored = (uint64_t)text_stored(s, (Py_ssize_t)bytes);
    if (!room(s, ATOM_ROOM + stored)) {
        return;
    }
    put_byte(s->out, V_LARGE);
    put_byte(s->out, number_is_negative(number));
    put_number(s->out, bits);
    put_number(s->out, stored);
    for (uint64_t byte = bytes - stored; byte < bytes; byte++) {
        uint64_t bit = byte * 8;
        Py_ssize_t index = (Py_ssize_t)(bit / PyLong_SHIFT);
        uint64_t word = digits[index];
        if (index + 1 < count) {
            word |= (uint64_t)digits[index + 1] << PyLong_SHIFT;
        }
        put_byte(s->out, (uint8_t)(word >> bit % PyLong_SHIFT));
    }
}

void write_string(Snapshot *s, PyObject *text)
{
    Py_ssize_t length = PyUnicode_GET_LENGTH(text);
    bool is_key = length >= recorder.least_key && PyUnicode_IS_ASCII(text) &&
                  begins_with_key(PyUnicode_DATA(text), (size_t)length);
    if (unlikely(is_key || (s->least > 0 && length >= s->least))) {
        write_secret_text(s, text);
        return;
    }
    Py_ssize_t stored = text_stored(s, length);
    if (!room(s, ATOM_ROOM + (size_t)stored * 4)) {
        return;
    }
    if (stored < length) {
        put_byte(s->out, V_CUT_STRING);
        put_number(s->out, (uint64_t)length);
    }
    else {
        put_byte(s->out, V_STRING);
    }
    if (PyUnicode_IS_ASCII(text)) {
        put_number(s->out, (uint64_t)stored);
        put_bytes(s->out, PyUnicode_DATA(text), (size_t)stored);
        return;
    }
    /* The length in bytes comes first and is known last. */
    uint8_t *start = s->out->bytes + s->out->length + NUMBER_SIZE;
    size_t count = encode_utf8(text, stored, start);
    put_number(s->out, count);
    memmove(s->out->bytes + s->out->length, start, count);
    s->out->length += count;
}

void write_bytes(Snapshot *s, uint8_t kind, const char *bytes, Py_ssize_t length)
{
    Py_ssize_t stored = text_stored(s, length);
    bool is_secret = s->least > 0 && length >= s->least;
    if (kind == V_BYTES &&
        unlikely(is_secret || (length >= recorder.least_key &&
                               begins_with_key((const uint8_t *)bytes, (size_t)length)))) {
        write_secret_bytes(s, bytes, length);
        return;
    }
    if (unlikely(is_secret)) {
        stored = 0; /* a bytearray has an identity, so it stays one */
    }
    if (!room(s, ATOM_ROOM + (size_t)stored)) {
        return;
    }
    put_byte(s->out, kind);
    put_number(s->out, (uint64_t)length);
    put_number(s->out, (uint64_t)stored);
    put_bytes(s->out, bytes, (size_t)stored);
}
