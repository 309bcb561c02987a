/* The entries of a journal: written to a file that is mapped into memory, so that they are there
 * however the process ends; or read from one, each thread its own in their order.
 *
 * A file: a line of JSON, then entries: number of the kind + 1, thread, digest of the arguments
 * (4 bytes), how it ended (1 byte), length and bytes of the value. A kind of 0 is the end.
 *
 * Threads are numbered in the order of their starts. Their interleaving may differ in a re-run, but
 * each thread finds its own entries in order. */
#include "journal.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

Journal journal;

enum { STEP = 1 << 20 };
#define MOST_BYTES ((size_t)2 << 30) /* a program that runs for hours must not fill the disk */

static struct {
    int descriptor;
    uint8_t *memory;
    size_t start, length, capacity; /* of the part that is mapped: `start` is where it begins */
} file = {.descriptor = -1};

/* Maps the part of the file behind what is written. */
static bool map_file(size_t room)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t written = file.start + file.length;
    size_t start = written / page * page;
    size_t capacity = (written - start + room + STEP) / page * page + page;
    if (file.memory != NULL) {
        munmap(file.memory, file.capacity);
        file.memory = NULL;
    }
    if (ftruncate(file.descriptor, (off_t)(start + capacity)) != 0) {
        return false;
    }
    void *memory = mmap(NULL, capacity, PROT_READ | PROT_WRITE, MAP_SHARED, file.descriptor,
                        (off_t)start);
    if (memory == MAP_FAILED) {
        return false;
    }
    file.memory = memory;
    file.start = start;
    file.length = written - start;
    file.capacity = capacity;
    return true;
}

/* A forked child shares the memory and must not write to it. */
static void forked(void)
{
    if (journal.mode == WRITING) {
        journal.mode = OFF;
    }
}

bool entries_open(int descriptor, PyObject *heading)
{
    pthread_atfork(NULL, NULL, forked);
    file.descriptor = descriptor;
    file.start = file.length = 0;
    size_t length = (size_t)PyBytes_GET_SIZE(heading);
    if (!map_file(length)) {
        return false;
    }
    memcpy(file.memory, PyBytes_AS_STRING(heading), length);
    file.length = length;
    return true;
}

bool entry_write(uint64_t kind, uint32_t digest, uint8_t how, const Bytes *payload)
{
    if (file.memory == NULL || file.start + file.length > MOST_BYTES) {
        return false;
    }
    Bytes head = {0};
    bool done = bytes_number(&head, kind + 1) && bytes_number(&head, thread_number()) &&
                bytes_put(&head, &digest, sizeof digest) && bytes_put(&head, &how, 1) &&
                bytes_number(&head, payload->length);
    size_t needed = head.length + payload->length;
    if (done && file.length + needed + 1 > file.capacity) {
        done = map_file(needed + 1);
    }
    if (done) {
        /* The first byte last: a process that is killed in between leaves an end there. */
        uint8_t *place = file.memory + file.length;
        memcpy(place + 1, head.bytes + 1, head.length - 1);
        if (payload->length > 0) {
            memcpy(place + head.length, payload->bytes, payload->length);
        }
        place[0] = head.bytes[0];
        file.length += needed;
        journal.count++;
    }
    free(head.bytes);
    return done;
}

void entries_close(void)
{
    if (file.memory != NULL) {
        size_t written = file.start + file.length;
        munmap(file.memory, file.capacity);
        file.memory = NULL;
        if (ftruncate(file.descriptor, (off_t)written) != 0) {
            /* The file then ends with zeros, which also mean the end. */
        }
    }
}

/* ---- reading ---- */

typedef struct {
    Entry *entries;
    size_t count, capacity, next;
} Queue;

static Queue *queues;
static size_t queue_count;

static Queue *queue_of(uint64_t thread)
{
    if (thread >= 1 << 20) {
        return NULL;
    }
    if (thread >= queue_count) {
        size_t wanted = (size_t)thread + 16;
        Queue *grown = realloc(queues, wanted * sizeof(Queue));
        if (grown == NULL) {
            return NULL;
        }
        memset(grown + queue_count, 0, (wanted - queue_count) * sizeof(Queue));
        queues = grown;
        queue_count = wanted;
    }
    return &queues[thread];
}

static bool queue_add(Queue *queue, Entry entry)
{
    if (queue->count == queue->capacity) {
        size_t wanted = queue->capacity * 2 + 64;
        Entry *grown = realloc(queue->entries, wanted * sizeof(Entry));
        if (grown == NULL) {
            return false;
        }
        queue->entries = grown;
        queue->capacity = wanted;
    }
    queue->entries[queue->count++] = entry;
    return true;
}

/* Indexes the entries in the data, which must stay in memory. */
PyObject *entries_load(const char *data, size_t length)
{
    Reader reader = {(const uint8_t *)data, (const uint8_t *)data + length};
    while (reader.at < reader.end && *reader.at != 0) {
        Entry entry;
        uint64_t kind, thread, size;
        if (!read_number(&reader, &kind) || !read_number(&reader, &thread) ||
            reader.end - reader.at < 5) {
            break;
        }
        memcpy(&entry.digest, reader.at, 4);
        entry.how = reader.at[4];
        reader.at += 5;
        if (!read_number(&reader, &size) || size > (uint64_t)(reader.end - reader.at)) {
            break;
        }
        entry.kind = kind - 1;
        entry.payload = (Reader){reader.at, reader.at + size};
        reader.at += size;
        Queue *queue = queue_of(thread);
        if (queue == NULL || !queue_add(queue, entry)) {
            return PyErr_NoMemory();
        }
    }
    Py_RETURN_NONE;
}

bool entry_peek(Entry *entry)
{
    uint32_t thread = thread_number();
    if (thread >= queue_count || queues[thread].next >= queues[thread].count) {
        return false;
    }
    *entry = queues[thread].entries[queues[thread].next];
    return true;
}

void entry_take(void)
{
    queues[thread_number()].next++;
    journal.count++;
}

uint64_t entries_left(void)
{
    uint64_t left = 0;
    for (size_t i = 0; i < queue_count; i++) {
        left += queues[i].count - queues[i].next;
    }
    return left;
}

/* ---- threads ---- */

static _Thread_local uint32_t own_number;
static struct {
    unsigned long ident;
    uint32_t number;
} waiting[64]; /* started, but without an entry yet */
static size_t waiting_count;
static uint32_t last_number;

void thread_started(unsigned long ident)
{
    last_number++;
    size_t place = waiting_count < 64 ? waiting_count++ : last_number % 64;
    waiting[place].ident = ident;
    waiting[place].number = last_number;
}

uint32_t threads_known(void) { return last_number; }

/* The number of this thread; 1 is the one that opened the journal. */
uint32_t thread_number(void)
{
    if (own_number != 0) {
        return own_number;
    }
    unsigned long ident = PyThread_get_thread_ident();
    for (size_t i = waiting_count; i-- > 0;) {
        if (waiting[i].ident == ident) {
            own_number = waiting[i].number;
            waiting[i] = waiting[--waiting_count];
            return own_number;
        }
    }
    own_number = ++last_number;
    return own_number;
}
