/* The parts of the recorder, and what they know of each other.
 *
 *   whole.c       all of them, as one translation unit
 *   page.c        bytes, pages and the file
 *   tail.c        the page being filled, where a killed process leaves it
 *   lz4.c         compression and checksum of a page
 *   tables.c      the tables of names, types and variables, and maps from pointers
 *   code.c        the table of code: what belongs to the user, and what its inputs are
 *   snapshot.c    values
 *   globals.c     module variables
 *   calls.c       activations and the records of calls
 *   generators.c  which call a suspended frame belongs to
 *   threads.c     the state of each thread, and who started it
 *   monitoring.c  the events of sys.monitoring (3.12 and later)
 *   profile.c     the events of the profile hook (3.11)
 *   passages.c    builtin functions that pass through: processes that start and end
 *   output.c      what is printed
 *   module.c      what Python sees
 *
 * All state is guarded by the GIL. Whoever may let it go (by running Python code, even whence's
 * own) does so before a record is begun and never in the middle of one. Nothing here raises,
 * and nothing holds a reference to an object of the program other than code objects and interned
 * names. */
#ifndef WHENCE_RECORDER_H
#define WHENCE_RECORDER_H

#include "interpreter.h"

#ifndef WHENCE_UNSUPPORTED

/* ---- docs/trace-format.md ---- */

enum record {
    R_CALL = 1, R_BARE_CALL, R_RETURN, R_BARE_RETURN, R_YIELD, R_BARE_YIELD, R_RESUME, R_THROW,
    R_RAISE, R_BARE_RAISE, R_CLOSED, R_CHANGED, R_LOST, R_GLOBAL, R_THREAD, R_SKIPPED, R_NAME,
    R_TYPE, R_CODE, R_VARIABLE, R_OUTPUT, R_NOTE, R_END, R_SEND,
};

enum value {
    V_UNBOUND = 0, V_NONE, V_TRUE, V_FALSE, V_NUMBER, V_LARGE, V_FLOAT, V_COMPLEX, V_STRING,
    V_CUT_STRING, V_BYTES, V_BYTEARRAY,
    V_LIST = 0x10, V_TUPLE, V_SET, V_FROZENSET, V_DICT, V_OBJECT, V_SUBCLASS, V_EXCEPTION,
    V_OPAQUE, V_SUMMARY, V_CLASS, V_FUNCTION, V_METHOD, V_MODULE, V_SAME, V_INPUT, V_REFERENCE,
    V_LEFT_OUT,
    V_SMALL = 0x80,
};

enum detail { DETAIL_IDS, DETAIL_SHALLOW, DETAIL_FULL };

/* ---- page.c ---- */

typedef struct {
    uint8_t *bytes;
    size_t length, capacity;
} Buffer;

bool buffer_grow(Buffer *buffer, size_t more);

/* Makes room for some more bytes; false if there is no memory. */
static inline bool buffer_room(Buffer *buffer, size_t more)
{
    return likely(buffer->capacity - buffer->length >= more) || buffer_grow(buffer, more);
}

/* These write without asking: the caller has made room. A number takes at most 10 bytes. */
static inline void put_byte(Buffer *buffer, uint8_t byte)
{
    buffer->bytes[buffer->length++] = byte;
}

static inline uint8_t *number_at(uint8_t *at, uint64_t number)
{
    while (unlikely(number >= 0x80)) {
        *at++ = (uint8_t)number | 0x80;
        number >>= 7;
    }
    *at++ = (uint8_t)number;
    return at;
}

static inline void put_number(Buffer *buffer, uint64_t number)
{
    uint8_t *at = number_at(buffer->bytes + buffer->length, number);
    buffer->length = (size_t)(at - buffer->bytes);
}

static inline void put_bytes(Buffer *buffer, const void *bytes, size_t count)
{
    memcpy(buffer->bytes + buffer->length, bytes, count);
    buffer->length += count;
}

enum { NUMBER_SIZE = 10 };

typedef struct {
    int32_t depth, width, attributes, text, budget;
} Bound;

enum { BOUND_USUAL, BOUND_FIRST, BOUND_GLOBAL, BOUND_WHOLE, BOUND_COUNT };

/* The recording of this process. There is at most one at a time. */
typedef struct {
    bool on;
    bool full;          /* max_bytes is reached: nothing but the bare ends of open calls */
    int descriptor;
    pid_t process;      /* the one that records: a forked child must not write */
    int problem;        /* errno of what made it stop by itself */
    enum detail detail;
    Bound bounds[BOUND_COUNT];
    uint64_t first_calls, max_calls, max_bytes, max_depth;
    uint64_t first_whole, last_whole; /* the calls whose values are recorded whole */
    uint64_t quick_calls;             /* up to this one a call may take the short way */
    uint64_t next_call;
    uint64_t next_value;
    uint64_t bytes_written;
    uint64_t skipped_by_run;
    uint64_t recorded_calls, skipped_calls;
    uint32_t current_thread;
    uint32_t next_thread;
    size_t page_limit;  /* a page is written when it is this long */
    Buffer page;        /* whole records, and the one being written */
    uint64_t *committed; /* how much of the page is whole records: tail.c */
    Buffer tables;      /* records of tables that must precede the next record */
    PyObject *describe; /* CodeReader.describe */
    PyObject *summaries;
} Recorder;

extern Recorder recorder;

bool record_begin_anyhow(uint32_t thread, size_t size);

/* Begins a record of so many bytes at most. False if recording is over. */
static inline bool record_begin(uint32_t thread, size_t size)
{
    return likely(recorder.page.length < recorder.page_limit && recorder.tables.length == 0 &&
                  thread == recorder.current_thread &&
                  recorder.page.capacity - recorder.page.length >= size) ||
           record_begin_anyhow(thread, size);
}

enum { CLOCK_EVERY = 64 }; /* records between two looks at the clock */
extern uint32_t since_clock;
void look_at_clock(void);

/* A record is whole: from here on the page may be written. */
static inline void record_end(void)
{
    __atomic_store_n(recorder.committed, recorder.page.length, __ATOMIC_RELEASE);
    if (unlikely(++since_clock >= CLOCK_EVERY)) {
        look_at_clock();
    }
}

void page_flush(void);
void recorder_fail(int error);
typedef struct {
    const char *path;
    int descriptor;           /* -1: there is none */
    unsigned long long check; /* of the trace's header */
} TailFile;

/* Before a recording: the page is empty, and in this file if it can be. */
bool page_reset(const TailFile *tail);
enum {
    FULL_PAGE = 1 << 20,
    ROOM_OF_PAGE = FULL_PAGE + (FULL_PAGE >> 2), /* most records fit behind a page's last one */
};

typedef struct {
    uint64_t a, b;
} Hash;

Hash hash_bytes(const uint8_t *bytes, size_t count);
/* Writes the encoding of a root value in full, or as a reference to an equal one before it. */
void put_root(Buffer *page, const uint8_t *bytes, size_t count, const Hash *hash);
enum {
    NUMBERED = 8, /* bytes from which on a root value has a number */
    /* Bytes from which on it pays to look for an equal one before it: what is shorter, and what is
     * no longer known, is left to the compression. */
    DEDUPED = 32,
};

void long_root_written(Buffer *page, size_t start, const Hash *hash);

/* The same for one that was written at the end of the page itself, from `start` on. */
static inline void root_written(Buffer *page, size_t start, const Hash *hash)
{
    size_t count = page->length - start;
    if (count >= DEDUPED) {
        long_root_written(page, start, hash);
    }
    else {
        recorder.next_value += count >= NUMBERED;
    }
}

void roots_undone(uint64_t first);

/* ---- tail.c ---- */

void tail_open(const TailFile *file, uint64_t at);
void tail_restart(uint64_t at);
void tail_close(void);
void tail_forked(void);
bool tail_holds_page(void);
void tail_outgrown(void);

/* ---- lz4.c ---- */

size_t lz4_bound(size_t count);
size_t lz4_compress(const uint8_t *source, size_t count, uint8_t *target);
uint32_t crc32_of(const uint8_t *bytes, size_t count);

/* ---- tables.c ---- */

typedef struct {
    void **keys;
    void **values;
    size_t mask, count;
} Map;

void *map_get(const Map *map, const void *key);
bool map_put(Map *map, void *key, void *value);
void *map_remove(Map *map, const void *key);
void map_clear(Map *map);

enum type_kind {
    TYPE_MODULE,
    TYPE_OBJECT,            /* seen through */
    TYPE_OPAQUE,            /* not, and has no attributes */
    TYPE_OPAQUE_ATTRIBUTES, /* not, and has some */
    TYPE_SUBCLASS,          /* of a builtin */
    TYPE_EXCEPTION,
    TYPE_SUMMARY,
};

typedef struct {
    Py_ssize_t offset;
    uint32_t name;
    bool none_is_nothing; /* Python code cannot tell them apart */
} SlotEntry;

typedef struct {
    PyTypeObject *type; /* borrowed: forgotten when the type is deallocated */
    uint32_t number;
    enum type_kind kind;
    bool user;
    bool has_dict;
    uint8_t builtin;    /* TYPE_SUBCLASS: which value its content is */
    bool unseen;        /* TYPE_SUBCLASS: it has more state, which nothing here can see */
    bool mutable_summary;
    uint32_t opaque;    /* TYPE_OPAQUE_ATTRIBUTES: number of the nearest base not seen through */
    uint32_t slot_count;
    SlotEntry *slots;
    const void *keys;   /* the shared keys that key_names are of */
    uint32_t *key_names;
    Py_ssize_t key_count;
    PyObject *summary;
} TypeEntry;

typedef struct {
    uint32_t number;
    bool known;
    uint64_t hash; /* of its last GLOBAL record's value */
} Variable;

bool tables_reset(void);
uint32_t name_number(PyObject *text);
uint32_t name_number_of(const char *text, size_t count);
TypeEntry *type_entry(PyTypeObject *type); /* may run whence's own code for a new type */
TypeEntry *type_lookup(PyTypeObject *type);

typedef struct {
    PyTypeObject *type;
    TypeEntry *entry;
} TypeCache;

enum { TYPE_CACHE = 1024 };
extern TypeCache type_cache[TYPE_CACHE];

static inline TypeCache *type_place(const PyTypeObject *type)
{
    uintptr_t address = (uintptr_t)type >> 4;
    return &type_cache[(address ^ address >> 10) & (TYPE_CACHE - 1)];
}

/* The same without ever running code: NULL if the type was not met yet. */
static inline TypeEntry *type_known(PyTypeObject *type)
{
    TypeCache *place = type_place(type);
    return likely(place->type == type) ? place->entry : type_lookup(type);
}
bool type_more_key_names(TypeEntry *entry, Py_ssize_t count);

/* Makes sure that the names of the first so many shared keys are known. */
static inline bool type_key_names(TypeEntry *entry, Py_ssize_t count)
{
    const void *keys = ((PyHeapTypeObject *)entry->type)->ht_cached_keys;
    return likely(entry->keys == keys && entry->key_count >= count) ||
           type_more_key_names(entry, count);
}

Variable *variable_entry(uint32_t module, uint32_t name);
void user_module(uint32_t name);
void type_watch(bool on);
/* Writes at most so many characters as UTF-8, surrogates included; returns the bytes (4 each). */
size_t encode_utf8(PyObject *text, Py_ssize_t characters, uint8_t *target);

/* ---- threads.c ---- */

enum activation_kind {
    RECORDED,
    ALIAS,   /* transparent code: its calls are those of the call in which it stands */
    SKIPPED, /* beyond a bound: counted only */
};

typedef struct Generator Generator;
typedef struct CodeEntry CodeEntry;

/* One frame that runs. */
typedef struct {
    uint64_t call;
    uint64_t skipped; /* calls below it in this step that were not recorded */
    Frame *frame;
    CodeEntry *code;
    Generator *generator;
    uint32_t depth;
    int32_t owner; /* index of the nearest RECORDED activation, itself included, or -1 */
    int32_t site;  /* index of the activation whose frame tells where its callees are called */
    uint32_t watches; /* where its watches begin in the thread's */
    uint8_t kind;
    uint8_t bound;
} Activation;

/* An input that may have changed or may be the outcome. The pointer is not a reference: it is
 * only compared with what the frame holds. */
typedef struct {
    PyObject *object;
    uint64_t hash;
    uint16_t input;
    bool compared; /* its content can change */
    bool sole;     /* nothing but the frame held it */
} Watch;

/* Where an input's encoding ends in the scratch, and its hash, if it was needed. */
typedef struct InputEncoding {
    size_t end;
    bool hashed;
    Hash hash;
} InputEncoding;

/* Where the calls of a thread that no recorded call of its own made belong. */
typedef struct {
    uint64_t call;
    uint64_t site;
    uint32_t depth;
    bool skipped;
} Origin;

typedef struct {
    uint32_t number;
    int suspended; /* whence's own code runs */
    Activation *stack;
    size_t count, capacity;
    Watch *watches;
    size_t watch_count, watch_capacity;
    Buffer scratch;  /* encodings of values, until their record is written */
    Buffer changes;  /* whole CHANGED and LOST entries, likewise */
    PyObject **seen; /* containers of the root being encoded */
    Map seen_places; /* where they stand there, counted from 1, once there are many */
    size_t seen_capacity;
    struct InputEncoding *ends; /* of each input of the call that begins */
    size_t ends_capacity;
    PyObject *unmade; /* the class of the exception in flight, if only its arguments exist */
    Origin origin;
    uint64_t generation; /* of the recording that it belongs to */
} Thread;

Thread *thread_new(void);
extern __thread Thread *thread_state __attribute__((tls_model("initial-exec")));
extern uint64_t recording_generation;

static inline Thread *this_thread(void)
{
    Thread *thread = thread_state;
    return likely(thread != NULL && thread->generation == recording_generation) ? thread
                                                                               : thread_new();
}

bool threads_watch(void);
void thread_started(uint64_t id, const Origin *starter);
/* Drops activations whose frame is not among those that run. */
void thread_sync(Thread *thread, const Frame *running);
/* The call to which a new call or thread belongs: the top of the stack, or the thread's origin. */
static inline Origin thread_top(const Thread *thread)
{
    if (thread->count == 0) {
        return thread->origin;
    }
    const Activation *top = &thread->stack[thread->count - 1];
    uint64_t site = top->site >= 0 ? frame_place(thread->stack[top->site].frame) : 0;
    return (Origin){top->call, site, top->depth, top->kind == SKIPPED};
}

/* The same where the stack may hold frames that left unseen. */
Origin thread_top_now(Thread *thread);

/* While whence's own Python code runs on behalf of a callback. */
typedef struct {
    PyObject *exception[3];
    PyThreadState *tstate;
    Thread *thread;
    int collecting;
} OwnCode;

OwnCode own_code_begin(Thread *thread);
void own_code_end(OwnCode *own);

/* ---- code.c ---- */

enum { INPUT_PLAIN, INPUT_CELL, INPUT_FREE };

typedef struct {
    int32_t slot; /* in the frame's locals */
    uint8_t kind;
    bool rebound; /* the code assigns to it */
} Input;

typedef struct {
    PyObject *name;
    Variable *variable;
    PyObject *value; /* borrowed: what the namespace holds while its version stays */
    bool walked;     /* mutable: looked at each time */
} GlobalUse;

typedef struct {
    PyObject *dict; /* borrowed: NULL once it is gone */
    uint64_t version;
} Namespace;

struct CodeEntry {
    PyCodeObject *code; /* the only strong reference that the recorder keeps */
    bool user, transparent, is_generator, is_coroutine, is_async_generator;
    bool local_events;
    bool quick; /* a plain function with a few plain parameters: call_quickly */
    uint32_t number;
    uint32_t input_count;
    Input *inputs;
    uint64_t calls;
    uint32_t careful; /* how often its inputs could not be encoded in place */
    uint32_t missed;  /* how often in a row the short way was not open to it */
    uint32_t global_count;
    uint32_t walked_count;
    GlobalUse *globals;
    Namespace *space;
    PyObject *space_dict;
    uint64_t space_version;
};

CodeEntry *code_describe(PyCodeObject *code, PyObject *namespace, Thread *thread);
void code_reset(void);
typedef struct {
    PyCodeObject *code;
    CodeEntry *entry;
} CodeCache;
enum { CODE_CACHE = 2048 };
extern CodeCache code_cache[CODE_CACHE];
extern Map code_map;

static inline size_t code_slot(const void *code)
{
    uintptr_t address = (uintptr_t)code >> 4;
    return (address ^ address >> 11) & (CODE_CACHE - 1);
}

/* What is known of a code object; NULL only if there is no memory. */
static inline CodeEntry *code_entry(PyCodeObject *code, PyObject *namespace, Thread *thread)
{
    CodeCache *cached = &code_cache[code_slot(code)];
    return likely(cached->code == code) ? cached->entry : code_describe(code, namespace, thread);
}

static inline PyObject *input_value(const Frame *frame, const Input *input)
{
    PyObject *value = frame->localsplus[input->slot];
    if (unlikely(input->kind != INPUT_PLAIN) && value != NULL && PyCell_Check(value)) {
        return ((PyCellObject *)value)->ob_ref;
    }
    return value;
}

/* ---- snapshot.c ---- */

typedef struct {
    PyObject *object;
    uint32_t input;
} Held;

typedef struct {
    Thread *thread;
    Buffer *out;
    const Bound *bound;
    const Held *held; /* inputs that a container can be the same as */
    size_t held_count;
    size_t seen_count;
    uint64_t seen_filter; /* a bit for each container seen: most are new */
    PyObject *chain[130]; /* containers being walked */
    int chain_length;
    uint32_t runs;       /* how often whence's own code ran, and others might have */
    bool foreign_opaque; /* a module variable: other people's objects by type only */
    bool in_place;       /* encoded where it stands in the page: no code may run */
    bool refused;        /* it would have to */
    bool mutable;        /* something in it can change and would be seen to */
    bool aborted;        /* a container that was walked is gone */
    bool failed;         /* no memory */
    size_t start;        /* where it begins in `out` */
} Snapshot;

enum {
    LARGE_ROOT = 4 << 20, /* in a root that has taken so many bytes, texts are cut off at */
    SHORT_TEXT = 48,      /* characters; shorter ones are copied without a call */
};

enum { MAX_DEPTH = 60 };

/* Encodes a root value at the end of a buffer. False if there is no memory. What is held, and
 * foreign_opaque and in_place, is set by the caller; `snapshot_plain` is for a value without any of
 * them. (The struct is large and not cleared.) */
bool snapshot_plain(Snapshot *snapshot, Thread *thread, Buffer *out, PyObject *value,
                    const Bound *bound);
bool snapshot_root(Snapshot *snapshot, Thread *thread, Buffer *out, PyObject *value,
                   const Bound *bound);

/* The same for an exception that was raised but not made yet (3.11): its class, and what its
 * instance would be made of. */
bool snapshot_unmade(Snapshot *snapshot, Thread *thread, Buffer *out, PyObject *type,
                     PyObject *value, const Bound *bound);

/* Most values are None, a truth value or a small number: one byte. 0 for all others. */
static inline uint8_t one_byte_value(PyObject *value)
{
    if (value == Py_None) {
        return V_NONE;
    }
    if (value == NULL || Py_TYPE(value) != &PyLong_Type) {
        return value == Py_True ? V_TRUE : value == Py_False ? V_FALSE : 0;
    }
    long long number;
    return small_number(value, &number) && number >= 0 && number < 128
               ? (uint8_t)(V_SMALL + number)
               : 0;
}

enum { ATOM_SIZE = SHORT_TEXT + 2 };

/* Copies a few bytes without a call: the last ones may be copied twice. */
static inline void copy_short(uint8_t *to, const uint8_t *from, size_t count)
{
    if (count >= 16) {
        for (size_t i = 0; i + 16 < count; i += 16) {
            memcpy(to + i, from + i, 16);
        }
        memcpy(to + count - 16, from + count - 16, 16);
    }
    else if (count >= 8) {
        memcpy(to, from, 8);
        memcpy(to + count - 8, from + count - 8, 8);
    }
    else if (count >= 4) {
        memcpy(to, from, 4);
        memcpy(to + count - 4, from + count - 4, 4);
    }
    else if (count > 0) {
        to[0] = from[0];
        to[count / 2] = from[count / 2];
        to[count - 1] = from[count - 1];
    }
}

/* Writes what most values are, in at most ATOM_SIZE bytes, and returns where they end; NULL for all
 * others. (With a place in a register: through a buffer each byte would cost several loads.) */
static inline __attribute__((always_inline)) uint8_t *atom_at(uint8_t *at, PyObject *value,
                                                              const Bound *bound)
{
    PyTypeObject *type = Py_TYPE(value);
    if (type == &PyUnicode_Type) {
        Py_ssize_t length = PyUnicode_GET_LENGTH(value);
        if (unlikely(length > SHORT_TEXT || length > bound->text ||
                     !PyUnicode_IS_COMPACT_ASCII(value))) {
            return NULL;
        }
        *at++ = V_STRING;
        *at++ = (uint8_t)length;
        copy_short(at, (const uint8_t *)((PyASCIIObject *)value + 1), (size_t)length);
        return at + length;
    }
    if (type->tp_flags & Py_TPFLAGS_HEAPTYPE) {
        return NULL;
    }
    if (value == Py_None) {
        *at++ = V_NONE;
        return at;
    }
    if (type == &PyLong_Type) {
        long long number;
        if (unlikely(!small_number(value, &number))) {
            return NULL;
        }
        if (number >= 0 && number < 128) {
            *at++ = (uint8_t)(V_SMALL + number);
            return at;
        }
        *at++ = V_NUMBER;
        return number_at(at, (uint64_t)number << 1 ^ (uint64_t)(number >> 63));
    }
    if (type == &PyBool_Type) {
        *at++ = value == Py_True ? V_TRUE : V_FALSE;
        return at;
    }
    if (type == &PyFloat_Type) {
        *at++ = V_FLOAT;
        memcpy(at, &((PyFloatObject *)value)->ob_fval, sizeof(double));
        return at + sizeof(double);
    }
    return NULL;
}

static inline uint8_t *buffer_end(const Buffer *buffer) { return buffer->bytes + buffer->length; }

static inline void buffer_ends(Buffer *buffer, const uint8_t *at)
{
    buffer->length = (size_t)(at - buffer->bytes);
}

static inline bool is_container(PyObject *value)
{
    if (value == NULL || value == Py_None) {
        return false;
    }
    PyTypeObject *type = Py_TYPE(value);
    if (type->tp_flags & Py_TPFLAGS_HEAPTYPE) {
        return !PyType_Check(value);
    }
    return type != &PyLong_Type && type != &PyUnicode_Type && type != &PyBool_Type &&
           type != &PyFloat_Type && type != &PyFunction_Type && type != &PyBytes_Type &&
           type != &PyComplex_Type && !PyType_Check(value) && type != &PyModule_Type;
}

/* ---- globals.c ---- */

bool globals_watch(bool on);
void globals_check(Thread *thread, Frame *frame, CodeEntry *code);
bool globals_settled(const Frame *frame, const CodeEntry *code);

/* ---- calls.c ---- */

void call_started(Thread *thread, Frame *frame, CodeEntry *code);
void call_resumed(Thread *thread, Frame *frame, CodeEntry *code, PyObject *thrown);
void call_yielded(Thread *thread, Frame *frame, PyObject *value);
void call_returned(Thread *thread, Frame *frame, PyObject *value);
void call_raised(Thread *thread, Frame *frame, PyObject *exception);
void generator_created(Thread *thread, PyObject *generator, CodeEntry *code, const Origin *creator);
void generator_closed(Thread *thread, Generator *generator);
void write_note(const char *text, size_t count);
void write_end(int how, PyObject *value);
void write_run_skipped(void);

/* ---- generators.c ---- */

/* A generator, coroutine or asynchronous generator from its creation to its end. */
struct Generator {
    uint64_t call;
    uint64_t serial;
    CodeEntry *code;
    uint32_t depth;
    uint8_t kind;
    uint8_t bound;
    bool started;
    uint32_t watch_count;
    Watch *watches;
};

Generator *generator_of(const Frame *frame);
Generator *generator_add(Frame *frame, CodeEntry *code);
void generator_forget(const Frame *frame);
bool generators_watch(bool on);
void generators_reset(void);
/* Who created a generator that starts now; false if that is not known. */
bool generator_creator(PyObject *generator, Origin *creator);

/* ---- passages.c, output.c ---- */

enum { END_BY_EXIT = 2 };

/* A builtin function whose calls come by us. */
typedef struct {
    PyMethodDef *definition; /* NULL while it is closed */
    PyCFunction original;
} Passage;

bool passage_open(Passage *passage, PyObject *function, int flags, PyCFunction through);
void passage_close(Passage *passage);
/* Whether this process, and this interpreter in it, is being recorded. */
bool passage_is_watched(void);
void passages_open(void);
void passages_close(void);
void output_watch(bool on);
uint64_t running_call(void);
/* Before `start`: where to tell of processes, and the name under which. False if it is too long. */
bool processes_told(const char *path, const char *name, bool child);

/* ---- monitoring.c, profile.c ---- */

bool hook_start(void);
void hook_stop(void);
extern const char *const hook_name;

#endif /* WHENCE_UNSUPPORTED */
#endif
