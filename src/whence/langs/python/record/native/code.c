/* The table of code objects: which are user code, and where their inputs are.
 *
 * The CodeReader, in Python, decides once for each code object whether it is user code. Entries are
 * found by address, and hold a reference to the code object so that its address is not reused: code
 * objects are the only objects of the program that a recording keeps alive. Each time that the table
 * has doubled, entries of code that nobody else refers to are dropped. */
#include "recorder.h"

#include <errno.h>

CodeCache code_cache[CODE_CACHE];
Map code_map;
static uint32_t next_code;

/* ---- reading a CodeDescription ---- */

static uint64_t number_field(PyObject *description, const char *name)
{
    PyObject *field = PyObject_GetAttrString(description, name);
    uint64_t number = 0;
    if (field != NULL && PyLong_Check(field)) {
        number = PyLong_AsUnsignedLongLongMask(field);
    }
    Py_XDECREF(field);
    PyErr_Clear();
    return number;
}

static uint32_t name_field(PyObject *description, const char *name)
{
    PyObject *field = PyObject_GetAttrString(description, name);
    uint32_t number = name_number(field);
    Py_XDECREF(field);
    PyErr_Clear();
    return number;
}

/* A tuple of strings, or NULL (which counts as empty). */
static PyObject *names_field(PyObject *description, const char *name)
{
    PyObject *field = PyObject_GetAttrString(description, name);
    if (field != NULL && !PyTuple_CheckExact(field)) {
        Py_CLEAR(field);
    }
    PyErr_Clear();
    return field;
}

static Py_ssize_t length_of(PyObject *names) { return names != NULL ? PyTuple_GET_SIZE(names) : 0; }

/* ---- inputs ---- */

static void mark_rebound(CodeEntry *entry, int slot)
{
    for (uint32_t i = 0; i < entry->input_count; i++) {
        if (entry->inputs[i].slot == slot) {
            entry->inputs[i].rebound = true;
        }
    }
}

/* Marks the inputs that the code assigns to: their slots may hold another object at the end. */
static void find_rebound(CodeEntry *entry)
{
    PyObject *bytes = PyCode_GetCode(entry->code);
    if (bytes == NULL) {
        PyErr_Clear();
        for (uint32_t i = 0; i < entry->input_count; i++) {
            entry->inputs[i].rebound = true;
        }
        return;
    }
    const uint8_t *code = (const uint8_t *)PyBytes_AS_STRING(bytes);
    Py_ssize_t length = PyBytes_GET_SIZE(bytes);
    int extended = 0;
    for (Py_ssize_t i = 0; i + 1 < length; i += 2) {
        int argument = extended << 8 | code[i + 1];
        extended = code[i] == EXTENDED_ARG ? argument : 0;
        int slots[2];
        for (int stored = stored_slots(code[i], argument, slots); stored > 0; stored--) {
            mark_rebound(entry, slots[stored - 1]);
        }
    }
    Py_DECREF(bytes);
}

static bool find_inputs(CodeEntry *entry, Py_ssize_t parameters, Py_ssize_t free_variables)
{
    PyCodeObject *code = entry->code;
    Py_ssize_t first_free = code->co_nlocalsplus - code->co_nfreevars;
    Py_ssize_t count = parameters + free_variables;
    if (parameters > first_free || free_variables > code->co_nfreevars || count > UINT16_MAX) {
        return false;
    }
    entry->inputs = PyMem_RawCalloc((size_t)count + 1, sizeof *entry->inputs);
    if (entry->inputs == NULL) {
        return false;
    }
    entry->input_count = (uint32_t)count;
    for (Py_ssize_t i = 0; i < count; i++) {
        bool is_free = i >= parameters;
        Py_ssize_t slot = is_free ? first_free + i - parameters : i;
        bool is_cell = slot_is_cell(code, slot);
        entry->inputs[i].slot = (int32_t)slot;
        entry->inputs[i].kind = is_free ? INPUT_FREE : is_cell ? INPUT_CELL : INPUT_PLAIN;
    }
    find_rebound(entry);
    return true;
}

/* ---- the CODE record ---- */

static void number_names(PyObject *names)
{
    for (Py_ssize_t i = 0; i < length_of(names); i++) {
        name_number(PyTuple_GET_ITEM(names, i));
    }
}

/* Finds which inputs are secrets by their names, and whether the result is one. */
static void find_secrets(CodeEntry *entry, PyObject *description, PyObject *parameters,
                         PyObject *free_variables)
{
    Py_ssize_t first_free = length_of(parameters);
    for (Py_ssize_t i = 0; i < (Py_ssize_t)entry->input_count; i++) {
        entry->inputs[i].least =
            least_of_text(i < first_free ? PyTuple_GET_ITEM(parameters, i)
                                         : PyTuple_GET_ITEM(free_variables, i - first_free));
    }
    PyObject *qualname = PyObject_GetAttrString(description, "qualname");
    const char *text = qualname != NULL && PyUnicode_Check(qualname) ? PyUnicode_AsUTF8(qualname)
                                                                     : NULL;
    if (text != NULL) {
        const char *dot = strrchr(text, '.');
        const char *name = dot != NULL ? dot + 1 : text;
        entry->least = least_of_name((const uint8_t *)name, strlen(name)) == 1;
    }
    PyErr_Clear();
    Py_XDECREF(qualname);
}

/* Names are numbered before the record that uses them begins, so that their records precede it. */
static bool write_code(CodeEntry *entry, PyObject *description)
{
    PyObject *parameters = names_field(description, "parameters");
    PyObject *free_variables = names_field(description, "free_variables");
    PyObject *globals = names_field(description, "global_names");
    PyObject *lines = PyObject_GetAttrString(description, "line_table");
    bool done = lines != NULL && PyBytes_Check(lines) &&
                find_inputs(entry, length_of(parameters), length_of(free_variables));
    uint64_t flags = number_field(description, "flags");
    uint32_t file = name_field(description, "file");
    uint32_t module = name_field(description, "module");
    uint32_t qualname = name_field(description, "qualname");
    user_module(module);
    number_names(parameters);
    number_names(free_variables);
    if (done) {
        find_secrets(entry, description, parameters, free_variables);
    }
    Py_ssize_t count = length_of(globals);
    if (done && count > 0) {
        entry->globals = PyMem_RawCalloc((size_t)count, sizeof *entry->globals);
        done = entry->globals != NULL;
    }
    for (Py_ssize_t i = 0; done && i < count; i++) {
        PyObject *name = PyTuple_GET_ITEM(globals, i);
        entry->globals[i].variable = variable_entry(module, name_number(name));
        done = entry->globals[i].variable != NULL && PyUnicode_CheckExact(name);
        if (done) {
            entry->globals[i].name = Py_NewRef(name);
            entry->global_count++;
        }
    }
    size_t table = done ? (size_t)PyBytes_GET_SIZE(lines) : 0;
    size_t size = 1 + (10 + entry->input_count + entry->global_count) * NUMBER_SIZE + table;
    done = done && buffer_room(&recorder.tables, size);
    if (done) {
        Buffer *out = &recorder.tables;
        put_byte(out, R_CODE);
        put_number(out, flags);
        put_number(out, file);
        put_number(out, module);
        put_number(out, qualname);
        put_number(out, number_field(description, "first_line"));
        put_number(out, (uint64_t)length_of(parameters));
        put_number(out, (uint64_t)length_of(free_variables));
        put_number(out, entry->global_count);
        for (Py_ssize_t i = 0; i < length_of(parameters); i++) {
            put_number(out, name_number(PyTuple_GET_ITEM(parameters, i)));
        }
        for (Py_ssize_t i = 0; i < length_of(free_variables); i++) {
            put_number(out, name_number(PyTuple_GET_ITEM(free_variables, i)));
        }
        for (uint32_t i = 0; i < entry->global_count; i++) {
            put_number(out, entry->globals[i].variable->number);
        }
        put_number(out, table);
        put_bytes(out, PyBytes_AS_STRING(lines), table);
        entry->number = next_code++;
    }
    Py_XDECREF(parameters);
    Py_XDECREF(free_variables);
    Py_XDECREF(globals);
    Py_XDECREF(lines);
    return done;
}

/* ---- entries ---- */

enum { MAX_FAST_INPUTS = 16, FIRST_SWEEP = 4096 };

static size_t sweep_at = FIRST_SWEEP;

static void code_free(CodeEntry *entry)
{
    for (uint32_t k = 0; k < entry->global_count; k++) {
        Py_DECREF(entry->globals[k].name);
    }
    globals_forget(entry);
    PyMem_RawFree(entry->globals);
    PyMem_RawFree(entry->inputs);
#if !HAS_MONITORING
    PyMem_RawFree(entry->sites);
#endif
    Py_DECREF(entry->code);
    PyMem_RawFree(entry);
}

/* Drops the entries of code that can never run again: programs that compile in a loop would fill the
 * memory. A frame has a reference to its code; activations and generators of frames that ended
 * without an event may still point to an entry. Own code runs here, as in code_describe. */
static void code_sweep(void)
{
    size_t count = 0, dropped = 0;
    CodeEntry **entries = PyMem_RawCalloc(code_map.count, sizeof *entries);
    for (size_t i = 0; entries != NULL && i <= code_map.mask; i++) {
        if (code_map.keys[i] != NULL) {
            entries[count] = code_map.values[i];
            entries[count++]->running = false;
        }
    }
    threads_mark_code();
    generators_mark_code();
    for (size_t i = 0; i < count; i++) {
        if (!entries[i]->running && Py_REFCNT(entries[i]->code) == 1) {
            map_remove(&code_map, entries[i]->code);
            entries[dropped++] = entries[i];
        }
    }
    memset(code_cache, 0, sizeof code_cache);
    sweep_at = code_map.count * 2 > FIRST_SWEEP ? code_map.count * 2 : FIRST_SWEEP;
    for (size_t i = 0; i < dropped; i++) {
        code_free(entries[i]);
    }
    PyMem_RawFree(entries);
}

static bool allows_fast_path(const CodeEntry *entry)
{
    bool fast = entry->user && !entry->transparent && !entry->is_generator;
    if (recorder.detail == DETAIL_IDS) {
        return fast;
    }
    fast = fast && entry->input_count <= MAX_FAST_INPUTS && entry->least == 0;
    for (uint32_t i = 0; fast && i < entry->input_count; i++) {
        fast = entry->inputs[i].kind == INPUT_PLAIN && entry->inputs[i].least == 0;
    }
    return fast;
}

static CodeEntry *code_add(PyCodeObject *code, PyObject *description)
{
    CodeEntry *entry = PyMem_RawCalloc(1, sizeof *entry);
    if (entry == NULL || !map_put(&code_map, code, entry)) {
        PyMem_RawFree(entry);
        recorder_fail(ENOMEM);
        return NULL;
    }
    entry->code = (PyCodeObject *)Py_NewRef(code);
    entry->is_coroutine = code->co_flags & CO_COROUTINE;
    entry->is_async_generator = code->co_flags & CO_ASYNC_GENERATOR;
    entry->is_generator =
        code->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR);
    if (description != NULL && description != Py_None) {
        entry->transparent = number_field(description, "transparent");
        entry->counted = number_field(description, "counted");
        entry->user = entry->transparent || write_code(entry, description);
        entry->fast = allows_fast_path(entry);
        entry->fast_input_count = recorder.detail == DETAIL_IDS ? 0 : entry->input_count;
        entry->fast_open = entry->fast && recorder.first_calls == 0;
        entry->fast_misses = entry->fast_open ? 0 : MAX_FAST_MISSES;
    }
    return entry;
}

CodeEntry *code_describe(PyCodeObject *code, PyObject *namespace, Thread *thread)
{
    CodeEntry *entry = map_get(&code_map, code);
    if (entry == NULL) {
        CodeAttributes before = code_attributes(code);
        OwnCode own = own_code_begin(thread);
        Py_INCREF(code);
        PyObject *description =
            namespace != NULL && is_namespace(namespace)
                ? PyObject_CallFunctionObjArgs(recorder.describe, code, namespace, NULL)
                : NULL;
        if (code_map.count >= sweep_at) {
            code_sweep();
        }
        entry = map_get(&code_map, code); /* another thread may have added it meanwhile */
        if (entry == NULL) {
            entry = code_add(code, description);
        }
        Py_XDECREF(description);
        drop_new_attributes(code, &before);
        Py_DECREF(code);
        own_code_end(&own);
    }
    if (entry != NULL) {
        code_cache[code_slot(code)] = (CodeCache){code, entry};
    }
    return entry;
}

void code_reset(void)
{
    memset(code_cache, 0, sizeof code_cache);
    Map old = code_map;
    code_map = (Map){NULL, NULL, 0, 0};
    next_code = 0;
    sweep_at = FIRST_SWEEP;
    for (size_t i = 0; old.keys != NULL && i <= old.mask; i++) {
        if (old.keys[i] != NULL) {
            code_free(old.values[i]);
        }
    }
    map_clear(&old);
}
