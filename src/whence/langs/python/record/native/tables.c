/* The tables of names, types and variables, whose records precede their first use.
 *
 * Names and variables are known by content, so that no string of the program is kept alive but
 * interned ones in a small cache. Types are known by address, and forgotten when they are
 * deallocated: `type`'s deallocator is wrapped while a recording runs, since a reference to a
 * class would keep it alive and a weak one would be seen. */
#include "recorder.h"

#ifndef WHENCE_UNSUPPORTED

#include <errno.h>

/* ---- maps from pointers: open addressing, no tombstones ---- */

static inline size_t map_slot(const Map *map, const void *key)
{
    return (size_t)(((uintptr_t)key >> 4) * 0x9E3779B97F4A7C15u >> 20) & map->mask;
}

void *map_get(const Map *map, const void *key)
{
    if (map->count == 0) {
        return NULL;
    }
    for (size_t i = map_slot(map, key);; i = (i + 1) & map->mask) {
        if (map->keys[i] == key) {
            return map->values[i];
        }
        if (map->keys[i] == NULL) {
            return NULL;
        }
    }
}

static void map_insert(Map *map, void *key, void *value)
{
    size_t i = map_slot(map, key);
    while (map->keys[i] != NULL && map->keys[i] != key) {
        i = (i + 1) & map->mask;
    }
    map->count += map->keys[i] == NULL;
    map->keys[i] = key;
    map->values[i] = value;
}

bool map_put(Map *map, void *key, void *value)
{
    if (map->keys == NULL || map->count * 2 > map->mask) {
        size_t size = map->keys == NULL ? 256 : (map->mask + 1) * 2;
        Map larger = {PyMem_RawCalloc(size, sizeof(void *)), PyMem_RawCalloc(size, sizeof(void *)),
                      size - 1, 0};
        if (larger.keys == NULL || larger.values == NULL) {
            PyMem_RawFree(larger.keys);
            PyMem_RawFree(larger.values);
            return false;
        }
        for (size_t i = 0; map->keys != NULL && i <= map->mask; i++) {
            if (map->keys[i] != NULL) {
                map_insert(&larger, map->keys[i], map->values[i]);
            }
        }
        map_clear(map);
        *map = larger;
    }
    map_insert(map, key, value);
    return true;
}

void *map_remove(Map *map, const void *key)
{
    if (map->count == 0) {
        return NULL;
    }
    size_t i = map_slot(map, key);
    while (map->keys[i] != key) {
        if (map->keys[i] == NULL) {
            return NULL;
        }
        i = (i + 1) & map->mask;
    }
    void *value = map->values[i];
    map->count--;
    for (size_t j = (i + 1) & map->mask; map->keys[j] != NULL; j = (j + 1) & map->mask) {
        size_t home = map_slot(map, map->keys[j]);
        if (((j - home) & map->mask) >= ((j - i) & map->mask)) {
            map->keys[i] = map->keys[j];
            map->values[i] = map->values[j];
            i = j;
        }
    }
    map->keys[i] = NULL;
    return value;
}

void map_clear(Map *map)
{
    PyMem_RawFree(map->keys);
    PyMem_RawFree(map->values);
    *map = (Map){NULL, NULL, 0, 0};
}

/* ---- names and variables: by the hash of their content ---- */

typedef struct {
    Hash hash;
    uint64_t value;
    bool used;
} ContentSlot;

typedef struct {
    ContentSlot *slots;
    size_t mask, count;
} ContentTable;

static ContentTable names, variables, user_modules;
static uint32_t next_name, next_type, next_variable;

static ContentSlot *content_slot(ContentTable *table, Hash hash)
{
    if (table->slots == NULL || table->count * 2 > table->mask) {
        size_t size = table->slots == NULL ? 1024 : (table->mask + 1) * 2;
        ContentSlot *slots = PyMem_RawCalloc(size, sizeof *slots);
        if (slots == NULL) {
            return NULL;
        }
        for (size_t i = 0; table->slots != NULL && i <= table->mask; i++) {
            if (table->slots[i].used) {
                size_t j = table->slots[i].hash.a & (size - 1);
                while (slots[j].used) {
                    j = (j + 1) & (size - 1);
                }
                slots[j] = table->slots[i];
            }
        }
        PyMem_RawFree(table->slots);
        table->slots = slots;
        table->mask = size - 1;
    }
    size_t i = hash.a & table->mask;
    while (table->slots[i].used &&
           (table->slots[i].hash.a != hash.a || table->slots[i].hash.b != hash.b)) {
        i = (i + 1) & table->mask;
    }
    return &table->slots[i];
}

static void content_clear(ContentTable *table)
{
    PyMem_RawFree(table->slots);
    *table = (ContentTable){NULL, 0, 0};
}

uint32_t name_number_of(const char *text, size_t count)
{
    Hash hash = hash_bytes((const uint8_t *)text, count);
    ContentSlot *slot = content_slot(&names, hash);
    if (slot == NULL || !buffer_room(&recorder.tables, count + 1 + NUMBER_SIZE)) {
        recorder_fail(ENOMEM);
        return 0;
    }
    if (!slot->used) {
        *slot = (ContentSlot){hash, next_name++, true};
        names.count++;
        put_byte(&recorder.tables, R_NAME);
        put_number(&recorder.tables, count);
        put_bytes(&recorder.tables, text, count);
    }
    return (uint32_t)slot->value;
}

size_t encode_utf8(PyObject *text, Py_ssize_t characters, uint8_t *target)
{
    int kind = PyUnicode_KIND(text);
    const void *data = PyUnicode_DATA(text);
    if (PyUnicode_IS_ASCII(text)) {
        memcpy(target, data, (size_t)characters);
        return (size_t)characters;
    }
    uint8_t *to = target;
    for (Py_ssize_t i = 0; i < characters; i++) {
        Py_UCS4 c = PyUnicode_READ(kind, data, i);
        if (c < 0x80) {
            *to++ = (uint8_t)c;
            continue;
        }
        if (c < 0x800) {
            *to++ = (uint8_t)(0xC0 | c >> 6);
        }
        else {
            if (c < 0x10000) {
                *to++ = (uint8_t)(0xE0 | c >> 12);
            }
            else {
                *to++ = (uint8_t)(0xF0 | c >> 18);
                *to++ = (uint8_t)(0x80 | (c >> 12 & 63));
            }
            *to++ = (uint8_t)(0x80 | (c >> 6 & 63));
        }
        *to++ = (uint8_t)(0x80 | (c & 63));
    }
    return (size_t)(to - target);
}

enum { NAME_CACHE = 4096 };

static struct {
    PyObject *text; /* strong: an interned string */
    uint32_t number;
} name_cache[NAME_CACHE];

static size_t name_cache_slot(const PyObject *text)
{
    uintptr_t address = (uintptr_t)text >> 4;
    return (address ^ address >> 12) & (NAME_CACHE - 1);
}

static __attribute__((noinline)) uint32_t name_number_new(PyObject *text)
{
    if (text == NULL || !PyUnicode_Check(text)) {
        return name_number_of("", 0);
    }
    Py_ssize_t length = PyUnicode_GET_LENGTH(text);
    uint8_t small[1024];
    uint8_t *bytes = small;
    if ((size_t)length * 4 > sizeof small) {
        bytes = PyMem_RawMalloc((size_t)length * 4);
        if (bytes == NULL) {
            recorder_fail(ENOMEM);
            return 0;
        }
    }
    size_t count = encode_utf8(text, length, bytes);
    uint32_t number = name_number_of((const char *)bytes, count);
    if (bytes != small) {
        PyMem_RawFree(bytes);
    }
    if (PyUnicode_CheckExact(text) && PyUnicode_CHECK_INTERNED(text)) {
        size_t place = name_cache_slot(text);
        PyObject *old = name_cache[place].text;
        name_cache[place].text = Py_NewRef(text);
        name_cache[place].number = number;
        Py_XDECREF(old); /* a str: runs no code */
    }
    return number;
}

/* The number of a name given as a str of any kind; what is no str has the empty name. */
uint32_t name_number(PyObject *text)
{
    size_t place = name_cache_slot(text);
    return likely(text != NULL && name_cache[place].text == text) ? name_cache[place].number
                                                                  : name_number_new(text);
}

Variable *variable_entry(uint32_t module, uint32_t name)
{
    uint64_t key[2] = {module, name};
    Hash hash = hash_bytes((const uint8_t *)key, sizeof key);
    ContentSlot *slot = content_slot(&variables, hash);
    if (slot == NULL || !buffer_room(&recorder.tables, 1 + 2 * NUMBER_SIZE)) {
        recorder_fail(ENOMEM);
        return NULL;
    }
    if (!slot->used) {
        Variable *variable = PyMem_RawCalloc(1, sizeof *variable);
        if (variable == NULL) {
            recorder_fail(ENOMEM);
            return NULL;
        }
        variable->number = next_variable++;
        *slot = (ContentSlot){hash, (uintptr_t)variable, true};
        variables.count++;
        put_byte(&recorder.tables, R_VARIABLE);
        put_number(&recorder.tables, module);
        put_number(&recorder.tables, name);
    }
    return (Variable *)(uintptr_t)slot->value;
}

static Hash module_key(uint32_t name)
{
    uint64_t key = name;
    return hash_bytes((const uint8_t *)&key, sizeof key);
}

/* Remembers that a module of this name has user code. */
void user_module(uint32_t name)
{
    ContentSlot *slot = content_slot(&user_modules, module_key(name));
    if (slot != NULL && !slot->used) {
        *slot = (ContentSlot){module_key(name), 1, true};
        user_modules.count++;
    }
}

/* ---- types ---- */

static Map types;

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

/* Slots, and the one thing that a class in C adds to a builtin and that everybody uses. */
static bool is_slot(PyTypeObject *type, const PyMemberDef *member)
{
    if (member->type == T_OBJECT_EX) {
        return type->tp_flags & Py_TPFLAGS_HEAPTYPE;
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

/* Whether what a class adds to the memory of its base's instances is all accounted for. */
static bool adds_only_attributes(PyTypeObject *type)
{
    PyTypeObject *base = type->tp_base;
    Py_ssize_t words = own_slots(type);
    if (type == &PyODict_Type && ordered_dict_is_known()) {
        return true; /* what it adds is an order, in which its items are written */
    }
    /* Before the end of an object of variable size, or at a place of its own. */
    words += type->tp_dictoffset != 0 && type->tp_dictoffset != base->tp_dictoffset &&
             !(type->tp_flags & Py_TPFLAGS_MANAGED_DICT);
    words += type->tp_weaklistoffset > 0 && type->tp_weaklistoffset != base->tp_weaklistoffset;
    return type->tp_itemsize == base->tp_itemsize &&
           type->tp_basicsize == base->tp_basicsize + words * (Py_ssize_t)sizeof(PyObject *);
}

static bool is_content(PyTypeObject *type)
{
    for (size_t i = 0; i < sizeof builtins / sizeof builtins[0]; i++) {
        if (type == builtins[i].type) {
            return true;
        }
    }
    return false;
}

/* The nearest base (or itself) that is not seen through; NULL if there is none. */
static PyTypeObject *first_opaque(PyTypeObject *type)
{
    while (type != &PyBaseObject_Type && type->tp_base != NULL && !is_content(type)) {
        if (!adds_only_attributes(type)) {
            return type;
        }
        type = type->tp_base;
    }
    return NULL;
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
                                member->type == T_OBJECT};
            }
        }
    }
    return true;
}

/* The summary registered for a type. A dict would hash the class, which is code of the program if
 * the metaclass says so: then there is none. (whence's own registry goes by identity.) */
static PyObject *registered_summary(PyTypeObject *type)
{
    PyTypeObject *meta = Py_TYPE(type);
    if (PyDict_CheckExact(recorder.summaries) &&
        (meta->tp_hash != PyType_Type.tp_hash ||
         meta->tp_richcompare != PyType_Type.tp_richcompare)) {
        return NULL;
    }
    OwnCode own = own_code_begin(this_thread());
    PyObject *found = PyObject_CallMethod(recorder.summaries, "get", "O", type);
    if (found != NULL && !PyCallable_Check(found)) {
        Py_CLEAR(found);
    }
    own_code_end(&own);
    return found;
}

/* Types of the standard library whose instances cannot change: `module.name`, or a whole module. */
static bool summary_can_change(PyTypeObject *type)
{
    static const char *const fixed[] = {
        "datetime.",          "decimal.Decimal", "fractions.Fraction", "pathlib.",  "uuid.UUID",
        "builtins.range",     "builtins.slice",  "re.Pattern",         "re.Match",
    };
    PyObject *given = type->tp_flags & Py_TPFLAGS_HEAPTYPE
                          ? PyDict_GetItemString(type->tp_dict, "__module__")
                          : NULL;
    const char *dot = strrchr(type->tp_name, '.');
    const char *module = given != NULL && PyUnicode_CheckExact(given) &&
                                 PyUnicode_IS_COMPACT_ASCII(given)
                             ? PyUnicode_DATA(given)
                             : NULL;
    char name[128];
    if (module != NULL) {
        snprintf(name, sizeof name, "%s.%s", module, dot != NULL ? dot + 1 : type->tp_name);
    }
    else {
        snprintf(name, sizeof name, "%s%s", dot != NULL ? "" : "builtins.", type->tp_name);
    }
    for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++) {
        size_t length = strlen(fixed[i]);
        bool whole = fixed[i][length - 1] != '.';
        if (whole ? strcmp(name, fixed[i]) == 0 : strncmp(name, fixed[i], length) == 0) {
            return false;
        }
    }
    return true;
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
        entry->mutable_summary = summary_can_change(type);
    }
    else if (type->tp_flags & Py_TPFLAGS_BASE_EXC_SUBCLASS) {
        entry->kind = TYPE_EXCEPTION;
    }
    else if ((entry->builtin = builtin_of(type)) != 0) {
        entry->kind = TYPE_SUBCLASS;
        entry->unseen = first_opaque(type) != NULL;
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
        type_entry(opaque); /* so that nobody else runs once the entry can be seen, half made */
    }
    PyObject *summary = registered_summary(type);
    TypeEntry *entry = map_get(&types, type); /* another thread may have been here meanwhile */
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
    uint32_t module, name;
    type_names(type, &module, &name);
    ContentSlot *slot = content_slot(&user_modules, module_key(module));
    entry->user = slot != NULL && slot->used;
    entry->number = next_type++;
    if (!collect_slots(entry) || !buffer_room(&recorder.tables, 2 + 2 * NUMBER_SIZE)) {
        recorder_fail(ENOMEM);
        return entry;
    }
    put_byte(&recorder.tables, R_TYPE);
    put_number(&recorder.tables, module);
    put_number(&recorder.tables, name);
    put_byte(&recorder.tables, (uint8_t)(entry->user | (PyType_IsSubtype(type, (PyTypeObject *)PyExc_BaseException) ? 2 : 0) |
                                         (type->tp_flags & Py_TPFLAGS_HEAPTYPE ? 0 : 4)));
    classify(entry);
    return entry;
}

TypeCache type_cache[TYPE_CACHE];

TypeEntry *type_lookup(PyTypeObject *type)
{
    TypeEntry *entry = map_get(&types, type);
    if (entry != NULL) {
        *type_place(type) = (TypeCache){type, entry};
    }
    return entry;
}

TypeEntry *type_entry(PyTypeObject *type)
{
    TypeEntry *entry = type_known(type);
    return likely(entry != NULL) ? entry : type_add(type);
}

bool type_more_key_names(TypeEntry *entry, Py_ssize_t count)
{
    const void *keys = ((PyHeapTypeObject *)entry->type)->ht_cached_keys;
    uint32_t *numbers = PyMem_RawRealloc(entry->key_names, (size_t)count * sizeof *numbers);
    if (numbers == NULL) {
        recorder_fail(ENOMEM);
        return false;
    }
    PyDictUnicodeEntry *entries = shared_keys(entry->type);
    for (Py_ssize_t i = 0; i < count; i++) {
        numbers[i] = name_number(entries[i].me_key);
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

/* Kept for good once it is known: a metaclass in C that was loaded meanwhile has inherited ours. */
static destructor type_dealloc;

static void watched_type_dealloc(PyObject *self)
{
    TypeCache *place = type_place((PyTypeObject *)self);
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

/* Forgets everything: the tables of a new recording are empty. */
bool tables_reset(void)
{
    for (size_t i = 0; types.keys != NULL && i <= types.mask; i++) {
        if (types.keys[i] != NULL) {
            type_free(types.values[i]);
        }
    }
    map_clear(&types);
    memset(type_cache, 0, sizeof type_cache);
    for (size_t i = 0; variables.slots != NULL && i <= variables.mask; i++) {
        if (variables.slots[i].used) {
            PyMem_RawFree((Variable *)(uintptr_t)variables.slots[i].value);
        }
    }
    content_clear(&names);
    content_clear(&variables);
    content_clear(&user_modules);
    for (size_t i = 0; i < NAME_CACHE; i++) {
        Py_CLEAR(name_cache[i].text);
    }
    next_name = next_type = next_variable = 0;
    return true;
}

#else
typedef int not_empty;
#endif
