/* The table of types: how the instances of a class are written.
 *
 * Types are found by address, and forgotten when they are deallocated: the deallocator of `type` is
 * wrapped while a recording runs. A reference would keep a class alive, and the program could see a
 * weak one. */
#include "recorder.h"

#include <errno.h>

static Map types;
static uint32_t next_type;

static void type_names(PyTypeObject *type, uint32_t *module, uint32_t *name)
{
    const char *dot = strrchr(type->tp_name, '.');
    if (type->tp_flags & Py_TPFLAGS_HEAPTYPE) {
        PyObject *given = PyDict_GetItemString(type->tp_dict, "__module__");
        *module = given != NULL && PyUnicode_CheckExact(given) ? name_number(given)
                                                               : name_number_of("builtins", 8);
        *name = name_number(((PyHeapTypeObject *)type)->ht_qualname);
    }
    else if (dot != NULL) {
        *module = name_number_of(type->tp_name, (size_t)(dot - type->tp_name));
        *name = name_number_of(dot + 1, strlen(dot + 1));
    }
    else {
        *module = name_number_of("builtins", 8);
        *name = name_number_of(type->tp_name, strlen(type->tp_name));
    }
}

static const struct {
    PyTypeObject *type;
    uint8_t value;
} builtins[] = {
    {&PyLong_Type, V_NUMBER},   {&PyUnicode_Type, V_STRING},       {&PyFloat_Type, V_FLOAT},
    {&PyList_Type, V_LIST},     {&PyTuple_Type, V_TUPLE},          {&PyDict_Type, V_DICT},
    {&PySet_Type, V_SET},       {&PyFrozenSet_Type, V_FROZENSET},  {&PyBytes_Type, V_BYTES},
    {&PyComplex_Type, V_COMPLEX}, {&PyByteArray_Type, V_BYTEARRAY},
#if HAS_FROZENDICT
    {&PyFrozenDict_Type, V_DICT}, /* written as if it extended dict: what it holds is the same */
#endif
};

static uint8_t builtin_of(PyTypeObject *type)
{
    for (size_t i = 0; i < sizeof builtins / sizeof builtins[0]; i++) {
        if (PyType_IsSubtype(type, builtins[i].type)) {
            return builtins[i].value;
        }
    }
    return 0;
}

/* Whether it is Template or Interpolation, the types of `t"..."` (3.14). */
static bool is_template(PyTypeObject *type)
{
    static const char module[] = "string.templatelib.";
    return !(type->tp_flags & Py_TPFLAGS_HEAPTYPE) &&
           strncmp(type->tp_name, module, sizeof module - 1) == 0;
}

/* Whether it is a slot, or such a member of a common class in C. */
static bool is_slot(PyTypeObject *type, const PyMemberDef *member)
{
    if (member->type == T_OBJECT_EX) {
        return (type->tp_flags & Py_TPFLAGS_HEAPTYPE) || is_template(type);
    }
    return member->type == T_OBJECT && strcmp(type->tp_name, "collections.defaultdict") == 0;
}

static Py_ssize_t own_slots(PyTypeObject *type)
{
    Py_ssize_t count = 0;
    for (PyMemberDef *member = type->tp_members; member && member->name; member++) {
        count += is_slot(type, member);
    }
    return count;
}

/* Whether a class adds nothing but slots, a dict and weak references to its base's instances. */
static bool adds_only_attributes(PyTypeObject *type)
{
    PyTypeObject *base = type->tp_base;
    Py_ssize_t words = own_slots(type);
    if (type == &PyODict_Type && ordered_dict_is_known()) {
        return true; /* it adds the order in which its items are written */
    }
    /* A dict pointer of its own. */
    words += type->tp_dictoffset != 0 && type->tp_dictoffset != base->tp_dictoffset &&
             !(type->tp_flags & Py_TPFLAGS_MANAGED_DICT);
    words += type->tp_weaklistoffset > 0 && type->tp_weaklistoffset != base->tp_weaklistoffset;
    return type->tp_itemsize == base->tp_itemsize &&
           type->tp_basicsize == base->tp_basicsize + words * (Py_ssize_t)sizeof(PyObject *);
}

static bool is_builtin_type(PyTypeObject *type)
{
    for (size_t i = 0; i < sizeof builtins / sizeof builtins[0]; i++) {
        if (type == builtins[i].type) {
            return true;
        }
    }
    return false;
}

/* The nearest base, or the type itself, with state that cannot be read; NULL if none. */
static PyTypeObject *first_opaque(PyTypeObject *type)
{
    while (type != &PyBaseObject_Type && type->tp_base != NULL && !is_builtin_type(type)) {
        if (!adds_only_attributes(type)) {
            return type;
        }
        type = type->tp_base;
    }
    return NULL;
}

static void find_slot_row(TypeEntry *entry)
{
    Py_ssize_t first = entry->slots[0].offset, last = first;
    bool plain = true;
    for (uint32_t i = 0; i < entry->slot_count; i++) {
        first = Py_MIN(first, entry->slots[i].offset);
        last = Py_MAX(last, entry->slots[i].offset);
        plain = plain && !entry->slots[i].none_is_unset && !entry->slots[i].after_items;
    }
    Py_ssize_t words = (last - first) / (Py_ssize_t)sizeof(PyObject *) + 1;
    entry->row = plain && words == (Py_ssize_t)entry->slot_count ? first : 0;
}

static bool collect_slots(TypeEntry *entry)
{
    PyObject *mro = entry->type->tp_mro;
    Py_ssize_t classes = mro != NULL ? PyTuple_GET_SIZE(mro) : 0;
    Py_ssize_t count = 0;
    for (Py_ssize_t i = 0; i < classes; i++) {
        count += own_slots((PyTypeObject *)PyTuple_GET_ITEM(mro, i));
    }
    if (count == 0) {
        return true;
    }
    entry->slots = PyMem_RawMalloc((size_t)count * sizeof *entry->slots);
    if (entry->slots == NULL) {
        return false;
    }
    for (Py_ssize_t i = 0; i < classes; i++) {
        PyTypeObject *type = (PyTypeObject *)PyTuple_GET_ITEM(mro, i);
        for (PyMemberDef *member = type->tp_members; member && member->name; member++) {
            if (is_slot(type, member)) {
                entry->slots[entry->slot_count++] =
                    (SlotEntry){member->offset, name_number_of(member->name, strlen(member->name)),
                                member->type == T_OBJECT, is_after_items(member)};
            }
        }
    }
    find_slot_row(entry);
    return true;
}

/* The summary registered for a type, whether its values never change (`fixed`), and whether it
 * takes how many characters of a text are recorded (`sized`). If the
 * metaclass defines `__hash__`, a registry that is a dict is not used: it would run code of the
 * program. (whence's own registry goes by identity.) */
static PyObject *registered_summary(PyTypeObject *type, bool *fixed, bool *sized)
{
    PyTypeObject *meta = Py_TYPE(type);
    if (PyDict_CheckExact(recorder.summaries) &&
        (meta->tp_hash != PyType_Type.tp_hash ||
         meta->tp_richcompare != PyType_Type.tp_richcompare)) {
        return NULL;
    }
    OwnCode own = own_code_begin(this_thread());
    PyObject *summary = PyObject_CallMethod(recorder.summaries, "get", "O", type);
    if (summary != NULL && !PyCallable_Check(summary)) {
        Py_CLEAR(summary);
    }
    PyObject *said = summary != NULL ? PyObject_GetAttrString(summary, "fixed") : NULL;
    *fixed = said == Py_True;
    Py_XDECREF(said);
    PyErr_Clear();
    said = summary != NULL ? PyObject_GetAttrString(summary, "sized") : NULL;
    *sized = said == Py_True;
    Py_XDECREF(said);
    own_code_end(&own);
    return summary;
}

static void classify(TypeEntry *entry)
{
    PyTypeObject *type = entry->type;
    PyTypeObject *opaque;
    entry->has_dict = type->tp_dictoffset != 0 || (type->tp_flags & Py_TPFLAGS_MANAGED_DICT);
    if (PyType_IsSubtype(type, &PyModule_Type)) {
        entry->kind = TYPE_MODULE;
    }
    else if (entry->summary != NULL) {
        entry->kind = TYPE_SUMMARY;
    }
    else if (type->tp_flags & Py_TPFLAGS_BASE_EXC_SUBCLASS) {
        entry->kind = TYPE_EXCEPTION;
    }
    else if ((entry->builtin = builtin_of(type)) != 0) {
        entry->kind = TYPE_SUBCLASS;
        entry->has_hidden_state = first_opaque(type) != NULL;
    }
    else if ((opaque = first_opaque(type)) == NULL) {
        entry->kind = TYPE_OBJECT;
    }
    else if (entry->has_dict || entry->slot_count > 0) {
        entry->kind = TYPE_OPAQUE_ATTRIBUTES;
        TypeEntry *base = opaque == type ? entry : type_entry(opaque);
        entry->opaque = base != NULL ? base->number : entry->number;
    }
    else {
        entry->kind = TYPE_OPAQUE;
    }
}

static TypeEntry *type_add(PyTypeObject *type)
{
    PyTypeObject *opaque = first_opaque(type);
    if (opaque != NULL && opaque != type && !(type->tp_flags & Py_TPFLAGS_BASE_EXC_SUBCLASS) &&
        builtin_of(type) == 0) {
        type_entry(opaque); /* now: other threads may run here, and the entry is not in the table */
    }
    bool fixed = false, sized = false;
    PyObject *summary = registered_summary(type, &fixed, &sized);
    TypeEntry *entry = map_get(&types, type); /* another thread may have added it meanwhile */
    if (entry != NULL) {
        Py_XDECREF(summary);
        return entry;
    }
    entry = PyMem_RawCalloc(1, sizeof *entry);
    if (entry == NULL || !map_put(&types, type, entry)) {
        PyMem_RawFree(entry);
        Py_XDECREF(summary);
        recorder_fail(ENOMEM);
        return NULL;
    }
    entry->type = type;
    entry->summary = summary;
    entry->mutable_summary = !fixed;
    entry->sized_summary = sized;
    uint32_t module, name;
    type_names(type, &module, &name);
    entry->user = is_user_module(module);
    entry->number = next_type++;
    if (!collect_slots(entry) || !buffer_room(&recorder.tables, 2 + 2 * NUMBER_SIZE)) {
        recorder_fail(ENOMEM);
        return entry;
    }
    put_byte(&recorder.tables, R_TYPE);
    put_number(&recorder.tables, module);
    put_number(&recorder.tables, name);
    bool is_exception = PyType_IsSubtype(type, (PyTypeObject *)PyExc_BaseException);
    put_byte(&recorder.tables, (uint8_t)(entry->user | (is_exception ? 2 : 0) |
                                         (type->tp_flags & Py_TPFLAGS_HEAPTYPE ? 0 : 4)));
    classify(entry);
    return entry;
}

TypeCache type_cache[TYPE_CACHE];

TypeEntry *type_lookup(PyTypeObject *type)
{
    TypeEntry *entry = map_get(&types, type);
    if (entry != NULL) {
        *type_cache_slot(type) = (TypeCache){type, entry};
    }
    return entry;
}

TypeEntry *type_entry(PyTypeObject *type)
{
    TypeEntry *entry = type_find(type);
    return likely(entry != NULL) ? entry : type_add(type);
}

bool type_more_key_names(TypeEntry *entry, Py_ssize_t count)
{
    const void *keys = shared_keys(entry->type);
    uint32_t *numbers = PyMem_RawRealloc(entry->key_names, (size_t)count * sizeof *numbers);
    if (numbers == NULL) {
        recorder_fail(ENOMEM);
        return false;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        numbers[i] = name_number(shared_key(entry->type, i));
    }
    entry->key_names = numbers;
    entry->keys = keys;
    entry->key_count = count;
    return true;
}

static void type_free(TypeEntry *entry)
{
    PyObject *summary = entry->summary;
    PyMem_RawFree(entry->slots);
    PyMem_RawFree(entry->key_names);
    PyMem_RawFree(entry);
    Py_XDECREF(summary);
}

/* Never reset: a metaclass in C that was loaded meanwhile may have inherited our deallocator. */
static destructor type_dealloc;

static void watched_type_dealloc(PyObject *self)
{
    TypeCache *place = type_cache_slot((PyTypeObject *)self);
    if (place->type == (PyTypeObject *)self) {
        *place = (TypeCache){NULL, NULL};
    }
    TypeEntry *entry = map_remove(&types, self);
    if (entry != NULL) {
        type_free(entry);
    }
    type_dealloc(self);
}

void type_watch(bool on)
{
    if (on && PyType_Type.tp_dealloc != watched_type_dealloc) {
        type_dealloc = PyType_Type.tp_dealloc;
        PyType_Type.tp_dealloc = watched_type_dealloc;
    }
    else if (!on && PyType_Type.tp_dealloc == watched_type_dealloc) {
        PyType_Type.tp_dealloc = type_dealloc;
    }
}

void types_reset(void)
{
    for (size_t i = 0; types.keys != NULL && i <= types.mask; i++) {
        if (types.keys[i] != NULL) {
            type_free(types.values[i]);
        }
    }
    map_clear(&types);
    memset(type_cache, 0, sizeof type_cache);
    next_type = 0;
}
