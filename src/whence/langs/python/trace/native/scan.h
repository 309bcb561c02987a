/* The pass over a trace's records in C: what the files of this folder share.
 *
 * It implements scan.py, whose comments explain it; a test checks that both give equal results.
 * Every function that can fail sets a Python exception and returns false. Nothing here trusts what
 * it reads: `Reader` is the only way to the bytes, and checks each of them.
 */
#ifndef WHENCE_SCAN_H
#define WHENCE_SCAN_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

/* Records. */
enum {
    CALL = 0x01, BARE_CALL, RETURN, BARE_RETURN, YIELD, BARE_YIELD, RESUME, THROW, RAISE,
    BARE_RAISE, CLOSED_RECORD, CHANGED, LOST, GLOBAL, THREAD, SKIPPED, NAME, TYPE, CODE,
    VARIABLE, OUTPUT, NOTE, END, SEND
};

/* How far a call has come. */
enum { CREATED, RUNNING, SUSPENDED, RETURNED, RAISED, CLOSED };

#define PAGE_BITS 28
#define MAX_NESTING 100
#define NUMBERED 8
#define MAX_CALLS (INT32_MAX - (1 << 20))
#define UNIQUE 0x55

/* A growing array. */
typedef struct {
    void *items;
    size_t count, capacity, width;
} Column;

bool column_grow(Column *column);

static inline void *column_next(Column *column)
{
    if (column->count == column->capacity && !column_grow(column)) {
        return NULL;
    }
    return (char *)column->items + column->width * column->count++;
}

static inline bool push_i64(Column *column, int64_t number)
{
    int64_t *item = column_next(column);
    return item && (*item = number, true);
}

static inline bool push_i32(Column *column, int32_t number)
{
    int32_t *item = column_next(column);
    return item && (*item = number, true);
}

/* A call while the pass goes on. */
typedef struct {
    int64_t call_at, exit_at, effort;
    uint64_t digest;
    int32_t parent, code;
    uint8_t state, unique;
} Call;

typedef struct {
    int64_t at, effort;
    size_t first_variable, variables;
    uint64_t inputs;
    bool stepped;
} Code;

typedef struct {
    int64_t at, size;
    bool vague;
} Name;

/* A root value: one that has a number, or the one that was read last. */
typedef struct {
    int64_t at;
    uint64_t digest;
    uint32_t size;
    bool complete;
} Root;

typedef struct {
    int64_t at;
    uint64_t digest;
    bool complete;
} Variable;

typedef struct {
    const uint8_t *data;
    size_t length, place;
} Reader;

typedef struct {
    Reader reader;
    int64_t base;        /* the position of the page's first byte */
    PyObject *malformed; /* the exception class */
    Column calls, codes, names, roots, variables, code_variables;
    Column types, notes, ends;
    Column skipped_call, skipped_count, skipped_before, event_call, event_at, global_variable, global_at;
    Column output_call, output_at;
    uint64_t threads;
    Root last;           /* the root value that was read last */
    uint64_t containers; /* how many started in it so far */
} Scan;

static inline Call *call_of(Scan *scan, size_t number) { return (Call *)scan->calls.items + number; }
static inline Code *code_of(Scan *scan, size_t number) { return (Code *)scan->codes.items + number; }

/* numbers.c */
bool malformed(Scan *scan, const char *problem);
bool read_byte(Scan *scan, uint8_t *byte);
bool read_v_slowly(Scan *scan, uint64_t *number);
bool skip_bytes(Scan *scan, uint64_t count);
bool skip_text(Scan *scan);
uint64_t digest_of(const uint8_t *data, size_t length);

static inline bool read_v(Scan *scan, uint64_t *number)
{
    Reader *reader = &scan->reader;
    if (reader->place < reader->length && reader->data[reader->place] < 0x80) {
        *number = reader->data[reader->place++];
        return true;
    }
    return read_v_slowly(scan, number);
}

static inline uint64_t mix(uint64_t digest, uint64_t word)
{
    digest = (digest ^ word) * UINT64_C(0x9E3779B97F4A7C15);
    return digest ^ digest >> 29;
}

/* values.c */
bool skip_root(Scan *scan);
bool read_name_number(Scan *scan, uint64_t *number);

/* records.c */
bool scan_records(Scan *scan);

/* lz4.c */
PyObject *lz4_decoded(PyObject *module, PyObject *arguments);

#endif
