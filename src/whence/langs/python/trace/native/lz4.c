/* LZ4 blocks, decoded: never beyond the length that is asked for, never outside of the block. */
#include "scan.h"

#include <string.h>

typedef struct {
    const uint8_t *next, *end;
} Block;

/* A length that goes on in further bytes; false if the block breaks off or it is absurd. */
static bool read_length(Block *block, size_t *length)
{
    uint8_t more;
    do {
        if (block->next == block->end || *length > (size_t)PY_SSIZE_T_MAX / 2) {
            return false;
        }
        more = *block->next++;
        *length += more;
    } while (more == 255);
    return true;
}

static bool copy_match(uint8_t *start, uint8_t **out, uint8_t *limit, size_t distance, size_t count)
{
    uint8_t *to = *out;
    if (distance == 0 || distance > (size_t)(to - start) || count > (size_t)(limit - to)) {
        return false;
    }
    const uint8_t *from = to - distance;
    if (distance >= count) {
        memcpy(to, from, count);
    } else {
        /* The match overlaps what it makes: it repeats itself. */
        for (size_t place = 0; place < count; place++) {
            to[place] = from[place];
        }
    }
    *out = to + count;
    return true;
}

/* How many bytes were made, or -1 if the block is not one. */
static Py_ssize_t decode(Block block, uint8_t *start, size_t length)
{
    uint8_t *out = start, *limit = start + length;
    while (block.next < block.end) {
        uint8_t token = *block.next++;
        size_t literals = token >> 4, count = token & 15;
        if (literals == 15 && !read_length(&block, &literals)) {
            return -1;
        }
        if (literals > (size_t)(block.end - block.next) || literals > (size_t)(limit - out)) {
            return -1;
        }
        memcpy(out, block.next, literals);
        out += literals;
        block.next += literals;
        if (block.next == block.end) {
            break;
        }
        if (block.end - block.next < 2) {
            return -1;
        }
        size_t distance = block.next[0] | (size_t)block.next[1] << 8;
        block.next += 2;
        if (count == 15 && !read_length(&block, &count)) {
            return -1;
        }
        if (!copy_match(start, &out, limit, distance, count + 4)) {
            return -1;
        }
    }
    return out - start;
}

PyObject *lz4_decoded(PyObject *module, PyObject *arguments)
{
    Py_buffer stored;
    Py_ssize_t length;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "y*n", &stored, &length)) {
        return NULL;
    }
    PyObject *data = NULL;
    Py_ssize_t made = -1;
    if (length >= 0) {
        data = PyBytes_FromStringAndSize(NULL, length);
    } else {
        PyErr_SetString(PyExc_ValueError, "a length is not negative");
    }
    if (data != NULL) {
        const uint8_t *bytes = stored.buf;
        Block block = {bytes, bytes + stored.len};
        made = decode(block, (uint8_t *)PyBytes_AS_STRING(data), (size_t)length);
    }
    PyBuffer_Release(&stored);
    if (data == NULL) {
        return NULL;
    }
    if (made < 0) {
        Py_DECREF(data);
        PyErr_SetString(PyExc_ValueError, "this is no LZ4 block of this length");
        return NULL;
    }
    if (made != length && _PyBytes_Resize(&data, made) < 0) {
        return NULL;
    }
    return data;
}
