/* The tables of names and variables. The record of an entry precedes its first use.
 *
 * Entries are found by content, so that no string of the program is kept alive, except interned
 * ones in a small cache. */
#include "encoding.h"

#include <errno.h>

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
static uint32_t next_name, next_variable;

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
        if (!names_room(next_name)) {
            recorder_fail(ENOMEM);
            return 0;
        }
        name_leasts[next_name] = least_of_name((const uint8_t *)text, count);
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

/* The number of a name, a str or an instance of a subclass; for other objects, the empty name. */
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
        variable->least = name_leasts[name];
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

bool is_user_module(uint32_t name)
{
    const ContentSlot *slot = content_slot(&user_modules, module_key(name));
    return slot != NULL && slot->used;
}

void names_reset(void)
{
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
    next_name = next_variable = 0;
}
