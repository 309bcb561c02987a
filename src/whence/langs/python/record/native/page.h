/* What all parts know of the file: its bytes (docs/trace-format.md), the page that is being filled,
 * and the recording as a whole. Part of recorder.h. */
#ifndef WHENCE_PAGE_H
#define WHENCE_PAGE_H

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
    V_LEFT_OUT, V_SECRET,
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

#define NEVER UINT64_MAX

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
    uint64_t early_calls;    /* up to this one all calls have the bound of first calls, */
    uint64_t early_outcomes; /* and so many more outcomes of generators */
    uint64_t first_whole, last_whole; /* the calls whose values are recorded whole */
    uint64_t fast_calls;             /* up to this one a call may take the short way: */
    uint64_t fast_calls_limit;              /* as far as bounds are concerned */
    uint8_t fast_record;             /* which begins with this */
    uint64_t collect_at;              /* before this many calls garbage is collected */
    uint64_t stop_calls, stop_depth;  /* the program is stopped there: call_limits.c */
    uint64_t freeze_at;               /* the next call that is observed: freezing.c */
    const Frame *observed_frame;      /* the one whose end is observed */
    uint64_t window_target;           /* which of all calls the window is of, 0: there is none */
    uint64_t window_call;             /* its number in the file, once it has begun */
    uint64_t texts;                   /* how many were written, to any stream */
    uint64_t calls_of_garbage;        /* how many were made because objects were collected */
    uint64_t checkpoint_at;           /* before this many calls: checkpoint.c */
    uint64_t next_call;
    uint64_t next_value;
    uint64_t bytes_written;
    uint64_t skipped_by_run;
    uint64_t skips_to_write; /* those of calls that run, which stand on the stacks */
    uint64_t skipped_calls;
    uint32_t current_thread;
    uint32_t next_thread;
    Py_ssize_t least_key; /* shorter texts are no keys of well-known services: secrets.c */
    size_t page_limit;  /* a page is written when it is this long */
    Buffer page;        /* whole records, and the one being written */
    uint64_t *committed; /* how much of the page is whole records: tail.c */
    Buffer tables;      /* records of tables that must precede the next record */
    PyObject *describe; /* CodeReader.describe */
    PyObject *summaries;
} Recorder;

extern Recorder recorder;

/* How many calls there were, be they recorded or only counted: the same in every run. */
static inline uint64_t calls_before(void)
{
    return recorder.next_call - 1 + recorder.skipped_calls;
}

bool record_begin_slow(uint32_t thread, size_t size);

/* Begins a record of so many bytes at most. False if recording is over. */
static inline bool record_begin(uint32_t thread, size_t size)
{
    return likely(recorder.page.length < recorder.page_limit && recorder.tables.length == 0 &&
                  thread == recorder.current_thread &&
                  recorder.page.capacity - recorder.page.length >= size) ||
           record_begin_slow(thread, size);
}

enum { CLOCK_EVERY = 64 }; /* records between two looks at the clock */
extern uint32_t since_clock;
void check_clock(void);

/* A record is whole: from here on the page may be written. */
static inline void record_end(void)
{
    __atomic_store_n(recorder.committed, recorder.page.length, __ATOMIC_RELEASE);
    if (unlikely(++since_clock >= CLOCK_EVERY)) {
        check_clock();
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
bool page_move(const TailFile *tail);
enum {
    FULL_PAGE = 1 << 20,
    FULL_PAGE_WITHOUT_TAIL = 1 << 16,
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

void finish_long_root(Buffer *page, size_t start, const Hash *hash);

/* The same for one that was written at the end of the page itself, from `start` on. */
static inline void finish_root(Buffer *page, size_t start, const Hash *hash)
{
    size_t count = page->length - start;
    if (count >= DEDUPED) {
        finish_long_root(page, start, hash);
    }
    else {
        recorder.next_value += count >= NUMBERED;
    }
}

void undo_roots(uint64_t first);

/* ---- tail.c ---- */

void tail_open(const TailFile *file, uint64_t at);
void tail_restart(uint64_t at);
void tail_close(void);
void tail_stop(int error);
void tail_after_fork(void);
bool tail_holds_page(void);
void tail_abandon(void);

/* ---- lz4.c ---- */

size_t lz4_bound(size_t count);
size_t lz4_compress(const uint8_t *source, size_t count, uint8_t *target);
uint32_t crc32_of(const uint8_t *bytes, size_t count);

#endif
