/* Bytes, pages and the file.
 *
 * Records are collected in `recorder.page` and written a page at a time, with one write. New table
 * entries that a record refers to are collected separately and placed before it.
 *
 * Invariant: between record_end and the next record_begin the page holds whole records only. */
#include "recorder.h"

#include <errno.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

Recorder recorder;

enum {
    SMALLEST_PAGE = 4096,
    PAGE_HEADER = 20,
    STOPPED = 3, /* how a run ended, in the record END */
    DEDUP_BITS = 12, /* so that the table of root values fits in the processor's cache */
};

static Buffer stored; /* the page as it goes to the file */
uint32_t since_clock;
static time_t last_flush;
static dev_t device; /* of the trace file */
static ino_t inode;
static uint64_t header_size; /* the bytes before the first page */

typedef struct {
    Hash hash;
    uint64_t number;
} DedupEntry;

static uint32_t *numbers; /* the number of each thread in the file; 0: none yet */
static size_t number_capacity;
static uint32_t last_number;

static DedupEntry *known; /* root values by hash; each slot holds the newest */

bool buffer_grow(Buffer *buffer, size_t more)
{
    size_t capacity = buffer->capacity ? buffer->capacity : 4096;
    while (capacity - buffer->length < more) {
        capacity *= 2;
    }
    bool in_tail = buffer == &recorder.page && tail_holds_page();
    uint8_t *bytes = PyMem_RawRealloc(in_tail ? NULL : buffer->bytes, capacity);
    if (bytes == NULL) {
        return false;
    }
    if (in_tail) {
        memcpy(bytes, buffer->bytes, buffer->length);
        tail_abandon();
    }
    buffer->bytes = bytes;
    buffer->capacity = capacity;
    return true;
}

/* Limits a page to what may still be written, so that small values of max_bytes are kept to. What is
 * in a page without a tail is lost with the process, or on a full disk, so such pages are small. */
static void set_page_limit(void)
{
    uint64_t left = recorder.max_bytes - Py_MIN(recorder.bytes_written, recorder.max_bytes);
    size_t full = tail_holds_page() ? FULL_PAGE : FULL_PAGE_WITHOUT_TAIL;
    recorder.page_limit = left < full ? (size_t)left : full;
    if (recorder.page_limit < SMALLEST_PAGE) {
        recorder.page_limit = SMALLEST_PAGE;
    }
}

/* Stops the recording after an error of the file or memory; the program goes on. What is in no page
 * yet stays in the tail, with the reason. */
void recorder_fail(int error)
{
    if (recorder.problem == 0) {
        recorder.problem = error;
        tail_stop(error);
    }
    recorder.on = false;
}

#if defined(CLOCK_MONOTONIC_COARSE)
#define CHEAP_CLOCK CLOCK_MONOTONIC_COARSE /* Linux */
#elif defined(CLOCK_MONOTONIC_RAW_APPROX)
#define CHEAP_CLOCK CLOCK_MONOTONIC_RAW_APPROX /* macOS */
#else
#define CHEAP_CLOCK CLOCK_MONOTONIC
#endif

static time_t seconds(void)
{
    struct timespec now;
    return clock_gettime(CHEAP_CLOCK, &now) == 0 ? now.tv_sec : 0;
}

bool page_reset(const TailFile *tail)
{
    recorder.page.length = recorder.tables.length = 0;
    tail_close();
    since_clock = 0;
    last_number = 0;
    if (numbers != NULL) {
        memset(numbers, 0, number_capacity * sizeof *numbers);
    }
    last_flush = seconds();
    struct stat file;
    if (fstat(recorder.descriptor, &file) != 0) {
        return false;
    }
    device = file.st_dev;
    inode = file.st_ino;
    header_size = (uint64_t)file.st_size;
    tail_open(tail, header_size);
    set_page_limit();
    if (known == NULL) {
        known = PyMem_RawMalloc(sizeof(DedupEntry) << DEDUP_BITS);
    }
    if (known != NULL) {
        memset(known, 0, sizeof(DedupEntry) << DEDUP_BITS);
    }
    return known != NULL && buffer_room(&recorder.page, ROOM_OF_PAGE) &&
           buffer_room(&stored, PAGE_HEADER + lz4_bound(FULL_PAGE)) &&
           buffer_room(&recorder.tables, 4096);
}

/* In a fork that has its own copy of the trace file: write there from here on. */
bool page_move(const TailFile *tail)
{
    struct stat file;
    tail_close();
    if (fstat(recorder.descriptor, &file) != 0) {
        return false;
    }
    device = file.st_dev;
    inode = file.st_ino;
    header_size = (uint64_t)file.st_size - recorder.bytes_written;
    tail_open(tail, (uint64_t)file.st_size);
    return buffer_room(&recorder.page, ROOM_OF_PAGE);
}

static void put_fixed(uint8_t *to, uint64_t number)
{
    for (int i = 0; i < 4; i++) {
        to[i] = (uint8_t)(number >> 8 * i);
    }
}

/* The program may close our descriptor and open another file with the same number. */
static bool is_our_file(void)
{
    struct stat now;
    if (fstat(recorder.descriptor, &now) == 0 && now.st_dev == device && now.st_ino == inode) {
        return true;
    }
    recorder_fail(EBADF);
    return false;
}

static bool write_all(const uint8_t *bytes, size_t count)
{
    while (count > 0) {
        ssize_t written = write(recorder.descriptor, bytes, count);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            recorder_fail(written < 0 ? errno : EIO);
            return false;
        }
        bytes += written;
        count -= (size_t)written;
    }
    return true;
}

/* Completes the page in `stored`, whose payload is there, with its header; returns its size. */
static size_t stored_page(uint8_t codec, size_t length, size_t count)
{
    uint8_t *header = stored.bytes;
    memcpy(header, "PAGE", 4);
    memcpy(header + 4, (uint8_t[4]){codec, 0, 0, 0}, 4);
    put_fixed(header + 8, length);
    put_fixed(header + 12, count);
    put_fixed(header + 16, crc32_of(header + PAGE_HEADER, length));
    return PAGE_HEADER + length;
}

/* Writes a page that says why the recording ended, where no tail says it. There may be room for so
 * few bytes although there was none for a page. */
static void write_reason(int error)
{
    char text[256];
    int count = snprintf(text, sizeof text, "the recording stopped before the program ended: %s",
                         strerror(error));
    if (count < 0 || count >= (int)sizeof text) {
        return;
    }
    stored.length = PAGE_HEADER;
    put_byte(&stored, R_END);
    put_byte(&stored, STOPPED);
    put_byte(&stored, V_STRING);
    put_number(&stored, (uint64_t)count);
    put_bytes(&stored, (const uint8_t *)text, (size_t)count);
    size_t length = stored.length - PAGE_HEADER;
    stored.length = 0;
    if (write(recorder.descriptor, stored.bytes, stored_page(0, length, length)) < 0) {
        /* Then the trace breaks off without a reason. */
    }
}

/* Writes the page. Only between records. Keeps errno, which belongs to the program. */
void page_flush(void)
{
    size_t count = recorder.page.length;
    int saved_errno = errno;
    since_clock = 0;
    last_flush = seconds();
    recorder.page.length = 0;
    if (count == 0 || recorder.problem != 0 || recorder.process != getpid()) {
        return;
    }
    if (!buffer_room(&stored, PAGE_HEADER + lz4_bound(count))) {
        recorder_fail(ENOMEM);
        return;
    }
    uint8_t *payload = stored.bytes + PAGE_HEADER;
    size_t length = lz4_compress(recorder.page.bytes, count, payload);
    uint8_t codec = 2;
    if (length >= count) {
        memcpy(payload, recorder.page.bytes, count);
        length = count;
        codec = 0;
    }
    size_t size = stored_page(codec, length, count);
    if (is_our_file()) {
        if (write_all(stored.bytes, size)) {
            recorder.bytes_written += size;
            tail_restart(header_size + recorder.bytes_written);
        }
        else if (ftruncate(recorder.descriptor, (off_t)(header_size + recorder.bytes_written))) {
            /* Then a truncated page stays at the end, which readers ignore. */
        }
        else if (!tail_holds_page()) {
            write_reason(recorder.problem);
        }
    }
    set_page_limit();
    if (recorder.bytes_written + SMALLEST_PAGE > recorder.max_bytes && !recorder.full) {
        recorder.full = true;
        recorder.fast_calls = recorder.fast_calls_limit = 0;
        const char note[] = "the trace reached its size limit: calls from here on were counted, "
                            "not recorded, and of open calls only the end was";
        write_note(note, sizeof note - 1);
    }
    errno = saved_errno;
}

/* The number of a thread in the file, in the order of the threads' first records. This is not the
 * order of their creation, and some threads write no record. 0 if there is no memory. */
static uint32_t written_number(uint32_t thread)
{
    if (thread >= number_capacity) {
        size_t capacity = 2 * (size_t)thread + 64;
        uint32_t *more = PyMem_RawRealloc(numbers, capacity * sizeof *more);
        if (more == NULL) {
            return 0;
        }
        memset(more + number_capacity, 0, (capacity - number_capacity) * sizeof *more);
        numbers = more;
        number_capacity = capacity;
    }
    if (numbers[thread] == 0) {
        numbers[thread] = ++last_number;
    }
    return numbers[thread];
}

bool record_begin_slow(uint32_t thread, size_t size)
{
    Buffer *page = &recorder.page;
    if (unlikely(recorder.page.length >= recorder.page_limit)) {
        page_flush();
    }
    if (!buffer_room(page, size + recorder.tables.length + 2 * NUMBER_SIZE)) {
        recorder_fail(ENOMEM);
        return false;
    }
    if (unlikely(recorder.tables.length > 0)) {
        put_bytes(page, recorder.tables.bytes, recorder.tables.length);
        recorder.tables.length = 0;
    }
    if (unlikely(thread != recorder.current_thread)) {
        uint32_t number = thread == 0 ? 0 : written_number(thread);
        if (thread != 0 && number == 0) {
            recorder_fail(ENOMEM);
            return false;
        }
        recorder.current_thread = thread;
        put_byte(page, R_THREAD);
        put_number(page, number);
    }
    return true;
}

void check_clock(void)
{
    since_clock = 0;
    if (seconds() - last_flush >= 1) {
        page_flush();
    }
}

/* The last bytes of up to eight, without reading beyond them. */
static inline uint64_t last_word(const uint8_t *bytes, size_t count)
{
    uint64_t word = 0;
    memcpy(&word, bytes, count);
    return word;
}

/* Two 64-bit hashes of all bytes in one pass. Words go alternately to two lanes, whose steps are
 * reversible; at the end both lanes are mixed into each hash. */
Hash hash_bytes(const uint8_t *bytes, size_t count)
{
    uint64_t a = 0x9E3779B97F4A7C15u ^ count, b = 0xC2B2AE3D27D4EB4Fu + count;
    uint64_t words[2];
    for (; count >= 16; count -= 16, bytes += 16) {
        memcpy(words, bytes, 16);
        a = (a ^ words[0]) * 0xFF51AFD7ED558CCDu;
        b = (b ^ words[1]) * 0x9FB21C651E98DF25u;
        a ^= a >> 32;
        b ^= b >> 29;
    }
    if (count >= 8) {
        memcpy(words, bytes, 8);
        a = (a ^ words[0]) * 0xFF51AFD7ED558CCDu;
        a ^= a >> 32;
        count -= 8;
        bytes += 8;
    }
    if (count > 0) {
        b = (b ^ last_word(bytes, count)) * 0x9FB21C651E98DF25u;
        b ^= b >> 29;
    }
    uint64_t first = (a + (b << 32 | b >> 32)) * 0xC4CEB9FE1A85EC53u;
    uint64_t second = (b ^ (a << 17 | a >> 47)) * 0xD6E8FEB86659FD93u;
    return (Hash){first ^ first >> 29, second ^ second >> 32};
}

static DedupEntry *dedup_slot(const Hash *hash)
{
    return &known[hash->a & ((1u << DEDUP_BITS) - 1)];
}

/* Replaces the root value at the end of the page by a reference, if an equal one was written
 * before. */
void finish_long_root(Buffer *page, size_t start, const Hash *hash)
{
    size_t count = page->length - start;
    Hash own = hash != NULL ? *hash : hash_bytes(page->bytes + start, count);
    DedupEntry *place = dedup_slot(&own);
    if (place->hash.a == own.a && place->hash.b == own.b) {
        page->length = start;
        put_byte(page, V_REFERENCE);
        put_number(page, recorder.next_value - place->number);
        return;
    }
    *place = (DedupEntry){own, recorder.next_value++};
}

/* Forgets the roots from this number on, whose records were withdrawn. */
void undo_roots(uint64_t first)
{
    if (recorder.next_value != first) {
        for (size_t i = 0; i < (size_t)1 << DEDUP_BITS; i++) {
            if (known[i].number >= first) {
                known[i] = (DedupEntry){{0, 0}, 0};
            }
        }
        recorder.next_value = first;
    }
}

void put_root(Buffer *page, const uint8_t *bytes, size_t count, const Hash *hash)
{
    size_t start = page->length;
    put_bytes(page, bytes, count);
    finish_root(page, start, hash);
}
