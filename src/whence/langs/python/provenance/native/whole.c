/* The module: what is bound to what, and the table of functions. */

#include "tagging.h"

#include "tags.c"

#include "shadows.c"

#include "reading.c"

#include "identity.c"

#include "making.c"

#include "hiding.c"

#include "running.c"

#include "operators.c"

#include "outside.c"

#include "places.c"

#include "iterators.c"

#include "loops.c"

#include "calls.c"

#include "entering.c"

static const char *const TWIN_NAMES[] = {
#define AS_NAME(name) #name,
    TWINS(AS_NAME)
};
static const char *const REST_NAMES[] = {GOES_ON(AS_NAME)};

/* Where a class keeps one of its slots. */
static bool find_slot(PyObject *class, const char *name, Py_ssize_t *offset)
{
    PyObject *found = PyObject_GetAttrString(class, name);
    bool good = found != NULL && Py_IS_TYPE(found, &PyMemberDescr_Type);
    if (good) {
        *offset = ((PyMemberDescrObject *)found)->d_member->offset;
    }
    else if (found != NULL) {
        PyErr_Format(PyExc_TypeError, "%R has no slot %s", class, name);
    }
    Py_XDECREF(found);
    return good;
}

static int find_name(const char *const *names, int count, const char *name)
{
    for (int i = 0; i < count; i++) {
        if (strcmp(names[i], name) == 0) {
            return i;
        }
    }
    return -1;
}

/* Gives the function here that does what a Python function does, which from now on is its twin. */
static PyObject *twin_of(PyObject *self, PyObject *function)
{
    PyObject *text = PyObject_GetAttrString(function, "__name__");
    const char *name = text != NULL ? PyUnicode_AsUTF8(text) : NULL;
    PyObject *made = NULL;
    int which = name != NULL ? find_name(TWIN_NAMES, TWIN_COUNT, name) : -1;
    if (which >= 0) {
        put(&twins[which], function);
        made = PyObject_GetAttr(self, text);
    }
    else if (name != NULL) {
        PyErr_Format(PyExc_LookupError, "%s has no twin", name);
    }
    Py_XDECREF(text);
    return made;
}

static bool take(PyObject *names, const char *name, PyObject **into)
{
    PyObject *found = PyDict_GetItemString(names, name);
    if (found == NULL) {
        PyErr_Format(PyExc_LookupError, "%s is not given", name);
        return false;
    }
    put(into, found);
    return true;
}

/* All that the functions here are about, by its names. */
static PyObject *bind(PyObject *self, PyObject *names)
{
    (void)self;
    if (!PyDict_Check(names)) {
        PyErr_SetString(PyExc_TypeError, "bind: expected a dict");
        return NULL;
    }
#define TAKE(name)                                                                                 \
    if (!take(names, #name, &the_##name)) {                                                        \
        return NULL;                                                                               \
    }
    BOUND_NAMES(TAKE)
#define FIND(class, slot)                                                                          \
    if (!find_slot(the_##class, #slot, &class##_##slot)) {                                         \
        return NULL;                                                                               \
    }
    SLOTS(FIND)
    for (int i = 0; i < REST_COUNT; i++) {
        if (!take(names, REST_NAMES[i], &rests[i])) {
            return NULL;
        }
    }
    for (int i = 0; i < TWIN_COUNT; i++) {
        if (twins[i] == NULL) {
            PyErr_Format(PyExc_LookupError, "%s has no twin in Python", TWIN_NAMES[i]);
            return NULL;
        }
    }
    Py_RETURN_NONE;
}

/* Whether the functions here do something themselves; gives what it was. */
static PyObject *enable(PyObject *self, PyObject *on)
{
    (void)self;
    bool before = enabled;
    int wanted = PyObject_IsTrue(on);
    if (wanted < 0) {
        return NULL;
    }
    if (wanted && the_RUN == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "enable: nothing is bound");
        return NULL;
    }
    enabled = wanted;
    return PyBool_FromLong(before);
}

#define FAST(name, function) {name, (PyCFunction)(void (*)(void))function, METH_FASTCALL, NULL}
static PyMethodDef FUNCTIONS[] = {
    {"bind", bind, METH_O, NULL},
    {"enable", enable, METH_O, NULL},
    {"twin_of", twin_of, METH_O, NULL},
    {"tag_count", tag_count, METH_NOARGS, NULL},
    FAST("operator", operator),
    FAST("augment", augment),
    FAST("unary", unary),
    FAST("test", test),
    FAST("test_and_note", test_and_note),
    FAST("select", select_pair),
    FAST("attribute", attribute),
    FAST("subscript", subscript),
    FAST("set_attribute", set_attribute),
    FAST("place_tag", place_tag),
    FAST("natively", natively),
    FAST("told", told),
    FAST("found_in", found_in),
    FAST("of_sequence", of_sequence),
    FAST("make_list", make_list),
    FAST("make_tuple", make_tuple),
    FAST("outside_tag", outside_tag),
    FAST("reread", reread),
    FAST("held_out_of_sight", held_out_of_sight),
    FAST("identified", identified),
    FAST("next_pair", next_pair),
    FAST("advanced", advanced),
    FAST("pairs_of", pairs_of),
    FAST("stepped", stepped),
    FAST("nested", nested),
    FAST("shape_of", shape_of),
    FAST("everything", everything),
    FAST("by_identity", by_identity),
    FAST("held", held),
    FAST("in_step", in_step),
    FAST("hides", hides),
    FAST("hide", hide),
    FAST("each", each),
    FAST("unpack", unpack),
    FAST("bind_arguments", bind_arguments),
    FAST("part_of", part_of),
    FAST("scan", scan),
    FAST("load_global", load_global),
    FAST("prepare", prepare),
    FAST("result", result),
    FAST("enter", enter),
    FAST("returned", returned),
    FAST("leave", leave),
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef MODULE = {
    PyModuleDef_HEAD_INIT, .m_name = "_tagging", .m_size = -1, .m_methods = FUNCTIONS,
};

static bool find_builtins(void)
{
    PyObject *list = PyList_New(0);
    PyObject *append = list != NULL ? PyObject_GetAttrString(list, "append") : NULL;
    if (append != NULL && PyCFunction_Check(append)) {
        list_append = PyCFunction_GET_FUNCTION(append);
    }
    PyObject *wrapper = list != NULL ? PyObject_GetAttrString(list, "__len__") : NULL;
    if (wrapper != NULL) {
        method_wrapper = (PyTypeObject *)Py_NewRef(Py_TYPE(wrapper));
    }
    Py_XDECREF(list);
    Py_XDECREF(append);
    Py_XDECREF(wrapper);
    PyObject *builtins = PyEval_GetBuiltins();
    builtin_len = builtins != NULL ? PyDict_GetItemString(builtins, "len") : NULL;
    builtin_isinstance = builtins != NULL ? PyDict_GetItemString(builtins, "isinstance") : NULL;
    builtin_print = builtins != NULL ? PyDict_GetItemString(builtins, "print") : NULL;
    Py_XINCREF(builtin_len);
    Py_XINCREF(builtin_isinstance);
    Py_XINCREF(builtin_print);
    return list_append != NULL && method_wrapper != NULL && builtin_len != NULL &&
           builtin_isinstance != NULL && builtin_print != NULL;
}

PyMODINIT_FUNC PyInit__tagging(void)
{
    if (PY_VERSION_HEX >= 0x030F0000) { /* never tried there: the functions in Python do it all */
        PyErr_SetString(PyExc_ImportError, "not for this version of Python");
        return NULL;
    }
    for (int kind = 0; kind < KINDS; kind++) {
        kinds[kind] = PyLong_FromLong(kind);
    }
    zero = PyLong_FromLong(0);
    minus_one = PyLong_FromLong(-1);
    empty_tuple = PyTuple_New(0);
    operators = PyDict_New();
    name_operation = PyUnicode_InternFromString("operation");
    name_pending = PyUnicode_InternFromString("pending");
    name_behind = PyUnicode_InternFromString("behind");
    name_frombytes = PyUnicode_InternFromString("frombytes");
    word_item = PyUnicode_InternFromString("item");
    word_attribute = PyUnicode_InternFromString("attribute");
    no_text = PyUnicode_InternFromString("");
    name_dict = PyUnicode_InternFromString("__dict__");
    name_note_maker = PyUnicode_InternFromString("note_maker");
    name_note_dropped = PyUnicode_InternFromString("note_dropped");
    name_append = PyUnicode_InternFromString("append");
    if (PyErr_Occurred() || PyType_Ready(&OperatorType) < 0 || PyType_Ready(&TagType) < 0 ||
        PyType_Ready(&RoundsType) < 0 || !find_builtins()) {
        return NULL;
    }
    return PyModule_Create(&MODULE);
}
