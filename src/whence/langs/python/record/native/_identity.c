/* Identity hashes that come out the same when a program is run again.
 *
 * The hash of a plain object is made from its address, so the order in which a set of such objects
 * is walked differs from run to run, and with it what a program calls. Here it is made from a
 * number that counts which object was hashed first, second and so on, and that the object keeps
 * until its memory is freed. Objects that were alive before keep the hash that they had: tables
 * may hold them already.
 *
 * While whence's own code runs, numbers come from a range of their own (`aside`): how often that
 * happens depends on what is recorded, and must not show in the program.
 *
 * All state is guarded by the GIL of the main interpreter: objects of others, which may have one of
 * their own, hash by address. Once installed it stays: an object's hash must not change. */

#include "cpython/cpython.h"

typedef struct {
    uintptr_t object; /* 0: never used, 1: given back */
    uint64_t number;
} Entry;

enum { GIVEN_BACK = 1, FIRST_CAPACITY = 1 << 12, FILTER_BITS = 18, OBJECT_ALIGNMENT = 16, HEADERS = 3 };
#define AS_BEFORE UINT64_MAX
#define ASIDE_RANGE ((uint64_t)1 << 40)
#define SPREAD 0x9E3779B97F4A7C15u

static Entry *entries;
static size_t capacity, occupied, alive;
/* How many known objects may lie at addresses like this one; a full counter stays full. */
static uint8_t filter[1 << FILTER_BITS];
static uint64_t next_number = 1, next_aside = ASIDE_RANGE;
static bool is_aside, is_installed;
static hashfunc by_address;
static PyMemAllocatorEx allocator;

static bool is_of_main_interpreter(void)
{
    PyThreadState *tstate = unchecked_thread_state();
    return tstate == NULL || PyThreadState_GetInterpreter(tstate) == PyInterpreterState_Main();
}

static size_t mixed(uintptr_t address)
{
    uint64_t mix = (uint64_t)(address / OBJECT_ALIGNMENT) * SPREAD;
    return (size_t)(mix ^ (mix >> 29));
}

static uint8_t *filter_of(uintptr_t address)
{
    return &filter[mixed(address) & ((1 << FILTER_BITS) - 1)];
}

static Entry *entry_of(uintptr_t object)
{
    size_t mask = capacity - 1;
    for (size_t i = mixed(object) & mask; entries[i].object != 0; i = (i + 1) & mask) {
        if (entries[i].object == object) {
            return &entries[i];
        }
    }
    return NULL;
}

static void put(uintptr_t object, uint64_t number)
{
    size_t mask = capacity - 1, i = mixed(object) & mask;
    while (entries[i].object > GIVEN_BACK) {
        i = (i + 1) & mask;
    }
    occupied += entries[i].object == 0;
    entries[i] = (Entry){object, number};
}

/* Room for one more, with places that were given back cleared out. */
static bool make_room(void)
{
    if (occupied * 2 < capacity) {
        return true;
    }
    Entry *old = entries;
    size_t old_capacity = capacity;
    size_t wanted = alive * 4 >= capacity ? capacity * 2 : capacity;
    Entry *fresh = calloc(wanted, sizeof(Entry));
    if (fresh == NULL) {
        return false;
    }
    entries = fresh;
    capacity = wanted;
    occupied = 0;
    for (size_t i = 0; i < old_capacity; i++) {
        if (old[i].object > GIVEN_BACK) {
            put(old[i].object, old[i].number);
        }
    }
    free(old);
    return true;
}

static bool know(uintptr_t object, uint64_t number)
{
    if (!make_room()) {
        return false;
    }
    put(object, number);
    alive++;
    uint8_t *count = filter_of(object);
    *count += *count != UINT8_MAX;
    return true;
}

static void forget(uintptr_t object)
{
    uint8_t *count = filter_of(object);
    if (*count == 0 || !is_of_main_interpreter()) {
        return;
    }
    Entry *entry = entry_of(object);
    if (entry != NULL) {
        entry->object = GIVEN_BACK;
        alive--;
        *count -= *count != UINT8_MAX;
    }
}

static Py_hash_t by_number(PyObject *object)
{
    uintptr_t address = (uintptr_t)object;
    if (!is_of_main_interpreter()) {
        return by_address(object);
    }
    Entry *entry = *filter_of(address) != 0 ? entry_of(address) : NULL;
    uint64_t number;
    if (entry != NULL) {
        number = entry->number;
    } else {
        number = is_aside ? next_aside : next_number;
        if (!know(address, number)) {
            PyErr_NoMemory();
            return -1;
        }
        *(is_aside ? &next_aside : &next_number) += 1;
    }
    if (number == AS_BEFORE) {
        return by_address(object);
    }
    return (Py_hash_t)number; /* dense, so that tables have few collisions; never -1 */
}

/* An object starts where its memory does, or behind one or two headers of the interpreter. */
static void freed(void *context, void *memory)
{
    if (memory != NULL) {
        for (uintptr_t header = 0; header < HEADERS; header++) {
            forget((uintptr_t)memory + header * OBJECT_ALIGNMENT);
        }
    }
    allocator.free(context, memory);
}

/* Not what can only hash by content: a class written in Python may do both. */
static bool keep(PyObject *object)
{
    uintptr_t address = (uintptr_t)object;
    PyTypeObject *type = Py_TYPE(object);
    if (type->tp_hash != by_address && type->tp_hash != by_number &&
        !PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE)) {
        return true;
    }
    return entry_of(address) != NULL || know(address, AS_BEFORE);
}

static int visit_to_keep(PyObject *object, void *failed)
{
    if (!keep(object)) {
        *(bool *)failed = true;
    }
    return 0;
}

/* All that the collector knows, and what that refers to. */
static bool keep_all(void)
{
    PyObject *collector = PyImport_ImportModule("gc");
    PyObject *objects = collector ? PyObject_CallMethod(collector, "get_objects", NULL) : NULL;
    Py_XDECREF(collector);
    if (objects == NULL) {
        return false;
    }
    bool failed = false;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(objects) && !failed; i++) {
        PyObject *object = PyList_GET_ITEM(objects, i);
        failed = !keep(object);
        traverseproc traverse = Py_TYPE(object)->tp_traverse;
        if (traverse != NULL) {
            traverse(object, visit_to_keep, &failed);
        }
    }
    Py_DECREF(objects);
    if (failed) {
        PyErr_NoMemory();
    }
    return !failed;
}

/* For a type and all below it: those that hash by address hash by number. Static types are no
 * objects of the collector, so they are kept here. */
static bool exchange(PyTypeObject *type)
{
    if (!keep((PyObject *)type)) {
        PyErr_NoMemory();
        return false;
    }
    if (type->tp_hash == by_address) {
        type->tp_hash = by_number;
        PyType_Modified(type);
    }
    PyObject *below =
        PyObject_CallMethod((PyObject *)&PyType_Type, "__subclasses__", "O", (PyObject *)type);
    if (below == NULL) {
        return false;
    }
    bool done = true;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(below) && done; i++) {
        done = exchange((PyTypeObject *)PyList_GET_ITEM(below, i));
    }
    Py_DECREF(below);
    return done;
}

/* `object.__hash__` itself, which a class may name as its own. */
static bool exchange_descriptor(void)
{
    PyObject *descriptor = PyObject_GetAttrString((PyObject *)&PyBaseObject_Type, "__hash__");
    if (descriptor == NULL) {
        return false;
    }
    bool known = Py_IS_TYPE(descriptor, &PyWrapperDescr_Type);
    if (known) {
        ((PyWrapperDescrObject *)descriptor)->d_wrapped = (void *)by_number;
    } else {
        PyErr_SetString(PyExc_RuntimeError, "object.__hash__ is not what it was");
    }
    Py_DECREF(descriptor);
    return known;
}

static PyObject *install(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    if (is_installed) {
        Py_RETURN_NONE;
    }
    capacity = FIRST_CAPACITY;
    entries = calloc(capacity, sizeof(Entry));
    if (entries == NULL) {
        return PyErr_NoMemory();
    }
    by_address = PyBaseObject_Type.tp_hash;
    /* From the first object that is kept on, its end must be heard of. */
    PyMem_GetAllocator(PYMEM_DOMAIN_OBJ, &allocator);
    PyMemAllocatorEx ours = allocator;
    ours.free = freed;
    PyMem_SetAllocator(PYMEM_DOMAIN_OBJ, &ours);
    is_installed = true;
    if (!keep_all() || !exchange(&PyBaseObject_Type) || !exchange_descriptor()) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *aside(PyObject *Py_UNUSED(module), PyObject *argument)
{
    int wish = PyObject_IsTrue(argument);
    if (wish < 0) {
        return NULL;
    }
    bool before = is_aside;
    is_aside = wish != 0;
    return PyBool_FromLong(before);
}

static PyObject *position(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    return PyLong_FromUnsignedLongLong(next_number);
}

static PyObject *go_on(PyObject *Py_UNUSED(module), PyObject *argument)
{
    unsigned long long number = PyLong_AsUnsignedLongLong(argument);
    if (PyErr_Occurred()) {
        return NULL;
    }
    next_number = number;
    Py_RETURN_NONE;
}

/* The objects that were first hashed since, by their addresses. */
static PyObject *numbered(PyObject *Py_UNUSED(module), PyObject *argument)
{
    unsigned long long first = PyLong_AsUnsignedLongLong(argument);
    PyObject *found = PyErr_Occurred() ? NULL : PyDict_New();
    for (size_t i = 0; found != NULL && i < capacity; i++) {
        uint64_t number = entries[i].number;
        if (entries[i].object <= GIVEN_BACK || number < first || number >= next_number) {
            continue;
        }
        PyObject *address = PyLong_FromVoidPtr((void *)entries[i].object);
        PyObject *value = PyLong_FromUnsignedLongLong(number);
        if (address == NULL || value == NULL || PyDict_SetItem(found, address, value) < 0) {
            Py_CLEAR(found);
        }
        Py_XDECREF(address);
        Py_XDECREF(value);
    }
    return found;
}

/* An object that was not hashed yet has this number from here on. */
static PyObject *give(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *object;
    unsigned long long number;
    if (!PyArg_ParseTuple(arguments, "OK", &object, &number)) {
        return NULL;
    }
    if (!is_installed || entry_of((uintptr_t)object) != NULL) {
        Py_RETURN_FALSE;
    }
    if (!know((uintptr_t)object, number)) {
        return PyErr_NoMemory();
    }
    Py_RETURN_TRUE;
}

static PyMethodDef methods[] = {
    {"install", install, METH_NOARGS, "From here on identity hashes are the same in every run."},
    {"aside", aside, METH_O, "aside(on): whether numbers come from whence's own range; as it was."},
    {"position", position, METH_NOARGS, "The number of the object that is hashed next."},
    {"go_on", go_on, METH_O, "go_on(number): it is this one."},
    {"numbered", numbered, METH_O, "numbered(first): by address, what has a number from there on."},
    {"give", give, METH_VARARGS, "give(object, number): if it has none yet."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_identity", "Identity hashes by number.", -1, methods,
    NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__identity(void) { return PyModule_Create(&definition); }
