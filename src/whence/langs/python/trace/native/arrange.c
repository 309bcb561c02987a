/* Calls in preorder, from calls in which each stands behind its parent, as in a trace.
 *
 * It does what `_preorder` and `_preorder_shape` in tree/build.py do, for rows of this one kind, in two
 * passes: backwards for the sizes, forwards for the positions. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct {
    int32_t *order, *parent, *depth, *end;
} Arranged;

/* Whether row 0 is the only one without a parent and each other row's parent stands before it. */
static bool is_topological(const int32_t *parents, Py_ssize_t count)
{
    if (count == 0 || parents[0] != -1) {
        return false;
    }
    for (Py_ssize_t row = 1; row < count; row++) {
        if (parents[row] < 0 || parents[row] >= row) {
            return false;
        }
    }
    return true;
}

/* Fills the arrays, which are as long as there are rows; `place` and `next` are for its own use.
 * Returns whether the rows are in preorder already. */
static bool arrange(const int32_t *parents, Py_ssize_t count, int32_t *place, int32_t *next,
                    Arranged to)
{
    int32_t *size = to.end; /* by row, until the places are known */
    for (Py_ssize_t row = 0; row < count; row++) {
        size[row] = 1;
    }
    for (Py_ssize_t row = count - 1; row > 0; row--) {
        size[parents[row]] += size[row];
    }
    bool in_order = true;
    for (Py_ssize_t row = 0; row < count; row++) {
        int32_t at = row == 0 ? 0 : next[parents[row]];
        if (row != 0) {
            next[parents[row]] += size[row];
        }
        place[row] = at;
        next[row] = at + 1;
        in_order = in_order && at == row;
        to.order[at] = (int32_t)row;
        to.parent[at] = row == 0 ? -1 : place[parents[row]];
        to.depth[at] = row == 0 ? 0 : to.depth[place[parents[row]]] + 1;
    }
    /* The sizes are by row, the ends by place: `next` of a row has become the end of its subtree. */
    for (Py_ssize_t row = 0; row < count; row++) {
        to.end[place[row]] = next[row];
    }
    return in_order;
}

static PyObject *new_column(Py_ssize_t count, int32_t **items)
{
    PyObject *bytes = PyByteArray_FromStringAndSize(NULL, count * (Py_ssize_t)sizeof(int32_t));
    *items = bytes == NULL ? NULL : (int32_t *)(void *)PyByteArray_AS_STRING(bytes);
    return bytes;
}

static PyObject *arranged_rows(const int32_t *parents, Py_ssize_t count)
{
    Arranged to;
    PyObject *order = new_column(count, &to.order), *parent = new_column(count, &to.parent);
    PyObject *depth = new_column(count, &to.depth), *end = new_column(count, &to.end);
    size_t bytes = (size_t)count * sizeof(int32_t);
    int32_t *place = PyMem_Malloc(bytes), *next = PyMem_Malloc(bytes);
    PyObject *result = NULL;
    if (order == NULL || parent == NULL || depth == NULL || end == NULL || place == NULL ||
        next == NULL) {
        PyErr_NoMemory();
    }
    else {
        bool in_order = arrange(parents, count, place, next, to);
        result = PyTuple_Pack(4, in_order ? Py_None : order, parent, depth, end);
    }
    PyMem_Free(place);
    PyMem_Free(next);
    Py_XDECREF(order);
    Py_XDECREF(parent);
    Py_XDECREF(depth);
    Py_XDECREF(end);
    return result;
}

/* arranged(parents): int32 rows. None if a row stands before its parent; else the order of the rows
 * (None if they are in preorder), and parents, depths and ends in preorder. */
PyObject *arranged(PyObject *module, PyObject *argument)
{
    (void)module;
    Py_buffer view;
    if (PyObject_GetBuffer(argument, &view, PyBUF_SIMPLE) < 0) {
        return NULL;
    }
    Py_ssize_t count = view.len / (Py_ssize_t)sizeof(int32_t);
    PyObject *result;
    if (count > INT32_MAX - 1 || !is_topological(view.buf, count)) {
        result = Py_NewRef(Py_None);
    }
    else {
        result = arranged_rows(view.buf, count);
    }
    PyBuffer_Release(&view);
    return result;
}
