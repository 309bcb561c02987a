/* Numbers, texts and digests of a trace, and the arrays that the pass fills. */
#include "scan.h"

#include <string.h>

bool column_grow(Column *column)
{
    size_t capacity = column->capacity ? column->capacity + column->capacity / 2 : 256;
    if (capacity > PY_SSIZE_T_MAX / column->width) {
        PyErr_NoMemory();
        return false;
    }
    void *items = PyMem_RawRealloc(column->items, capacity * column->width);
    if (items == NULL) {
        PyErr_NoMemory();
        return false;
    }
    column->items = items;
    column->capacity = capacity;
    return true;
}

bool malformed(Scan *scan, const char *problem)
{
    PyErr_SetString(scan->malformed, problem);
    return false;
}

bool read_byte(Scan *scan, uint8_t *byte)
{
    Reader *reader = &scan->reader;
    if (reader->place >= reader->length) {
        return malformed(scan, "a record breaks off");
    }
    *byte = reader->data[reader->place++];
    return true;
}

bool read_v_slowly(Scan *scan, uint64_t *number)
{
    uint8_t byte;
    *number = 0;
    for (int shift = 0; shift <= 63; shift += 7) {
        if (!read_byte(scan, &byte)) {
            return false;
        }
        if (shift == 63 && byte > 1) {
            break;
        }
        *number |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) {
            return true;
        }
    }
    return malformed(scan, "a number has more than 64 bits");
}

bool skip_bytes(Scan *scan, uint64_t count)
{
    Reader *reader = &scan->reader;
    if (count > reader->length - reader->place) {
        return malformed(scan, "a record breaks off");
    }
    reader->place += (size_t)count;
    return true;
}

bool skip_text(Scan *scan)
{
    uint64_t length;
    return read_v(scan, &length) && skip_bytes(scan, length);
}

/* The words are little-endian, whatever the machine is. */
static uint64_t word_at(const uint8_t *data, size_t length)
{
    uint64_t word = 0;
#if PY_LITTLE_ENDIAN
    memcpy(&word, data, length);
#else
    for (size_t place = 0; place < length; place++) {
        word |= (uint64_t)data[place] << 8 * place;
    }
#endif
    return word;
}

uint64_t digest_of(const uint8_t *data, size_t length)
{
    uint64_t digest = mix(0x77, length);
    while (length >= 8) {
        digest = mix(digest, word_at(data, 8));
        data += 8;
        length -= 8;
    }
    return length ? mix(digest, word_at(data, length)) : digest;
}
