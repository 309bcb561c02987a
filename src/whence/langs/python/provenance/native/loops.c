/* Loops and unpacking: iteration.py, over lists and tuples. */

#include "tagging.h"

/* An item of a sequence with its tag; `index` is a new reference, which is taken. */
static PyObject *item_pair(PyObject *site, PyObject *control, PyObject *owner, PyObject *index,
                           PyObject *value)
{
    if (index == NULL) {
        return NULL;
    }
    Py_INCREF(value);
    PyObject *given[] = {site, control, owner, index, value};
    PyObject *tag = place_tag(NULL, given, 5);
    Py_DECREF(index);
    return pair_of(value, tag);
}

static inline PyObject *item_at(PyObject *thing, Py_ssize_t place)
{
    return PyList_CheckExact(thing) ? PyList_GET_ITEM(thing, place)
                                    : PyTuple_GET_ITEM(thing, place);
}

static inline bool is_sequence(PyObject *thing)
{
    return PyList_CheckExact(thing) || PyTuple_CheckExact(thing);
}

/* --- what a loop goes over ----------------------------------------------------------------------- */

typedef struct {
    PyObject_HEAD
    PyObject *site, *control, *owner;
    Py_ssize_t next;
} Rounds;

static int rounds_visit(PyObject *self, visitproc visit, void *arg)
{
    Rounds *rounds = (Rounds *)self;
    Py_VISIT(rounds->control);
    Py_VISIT(rounds->owner);
    return 0;
}

static int rounds_clear(PyObject *self)
{
    Rounds *rounds = (Rounds *)self;
    Py_CLEAR(rounds->site);
    Py_CLEAR(rounds->control);
    Py_CLEAR(rounds->owner);
    return 0;
}

static void rounds_free(PyObject *self)
{
    PyObject_GC_UnTrack(self);
    rounds_clear(self);
    PyObject_GC_Del(self);
}

/* The next value with its tag, and the control of its round. */
static PyObject *rounds_next(PyObject *self)
{
    Rounds *rounds = (Rounds *)self;
    PyObject *owner = rounds->owner, *site = rounds->site, *control = rounds->control;
    if (owner == NULL || rounds->next >= Py_SIZE(VALUE(owner))) {
        rounds_clear(self); /* as an iterator that has ended: what is appended later is not seen */
        return NULL;
    }
    Py_ssize_t place = rounds->next++;
    PyObject *given = item_pair(site, control, owner, PyLong_FromSsize_t(place),
                                item_at(VALUE(owner), place));
    PyObject *shaped = given != NULL ? shape(VALUE(owner)) : NULL;
    PyObject *why = shaped ? TAG_WITH(OP, site, control, TAG(owner), shaped) : NULL;
    PyObject *round = why != NULL ? test_tag(site, control, why, true) : NULL;
    Py_XDECREF(shaped);
    Py_XDECREF(why);
    return pair_of(given, round);
}

static PyTypeObject RoundsType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "whence.langs.python.provenance._tagging.Rounds",
    .tp_basicsize = sizeof(Rounds),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_traverse = rounds_visit,
    .tp_clear = rounds_clear,
    .tp_dealloc = rounds_free,
    .tp_iter = PyObject_SelfIter,
    .tp_iternext = rounds_next,
};

static PyObject *each(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    if (!enabled || count != 4 || given[3] != Py_None || !is_control(given[1]) ||
        !is_pair(given[2]) || !is_sequence(VALUE(given[2]))) {
        return twin_does(T_each, given, count);
    }
    Rounds *made = PyObject_GC_New(Rounds, &RoundsType);
    if (made == NULL) {
        return NULL;
    }
    made->site = Py_NewRef(given[0]);
    made->control = Py_NewRef(given[1]);
    made->owner = Py_NewRef(given[2]);
    made->next = 0;
    PyObject_GC_Track(made);
    return (PyObject *)made;
}

/* `a, b = owner`, where there are as many as are wanted. */
static PyObject *unpack(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    if (!enabled || count != 5 || !is_pair(given[2]) || !is_sequence(VALUE(given[2])) ||
        PyLong_AsLong(given[4]) >= 0 ||
        PyLong_AsSsize_t(given[3]) != Py_SIZE(VALUE(given[2]))) {
        return PyErr_Occurred() ? NULL : twin_does(T_unpack, given, count);
    }
    PyObject *made = PyList_New(0), *thing = VALUE(given[2]);
    for (Py_ssize_t i = 0; made != NULL && i < Py_SIZE(thing); i++) {
        PyObject *pair = item_pair(given[0], given[1], given[2], PyLong_FromSsize_t(i),
                                   item_at(thing, i));
        if (pair == NULL || PyList_Append(made, pair) < 0) {
            Py_CLEAR(made);
        }
        Py_XDECREF(pair);
    }
    return made;
}
