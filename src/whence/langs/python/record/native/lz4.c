/* A page's compression, in the LZ4 block format, and its checksum.
 *
 * Greedy, with one hash table of last positions, which is small enough to stay in the processor's
 * cache together with what it points to: what matters is that a megabyte takes a millisecond or two
 * of the program's time. The end of a block obeys the format's rules: the last five bytes are
 * literals, and no match begins in the last twelve. */
#include "recorder.h"

enum { HASH_BITS = 12, MIN_MATCH = 4, LAST_LITERALS = 5, MATCH_LIMIT = 12, MAX_DISTANCE = 65535 };

size_t lz4_bound(size_t count) { return count + count / 255 + 16; }

static inline uint32_t four_bytes(const uint8_t *at)
{
    uint32_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

static inline uint64_t eight_bytes(const uint8_t *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

/* Where in memory the first byte that is not 0 stands. */
static inline int first_byte(uint64_t word)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return __builtin_ctzll(word) / 8;
#else
    return __builtin_clzll(word) / 8;
#endif
}

static uint8_t *put_length(uint8_t *to, size_t length)
{
    for (; length >= 255; length -= 255) {
        *to++ = 255;
    }
    *to++ = (uint8_t)length;
    return to;
}

static inline uint8_t *put_sequence(uint8_t *to, const uint8_t *literals, size_t count, size_t distance,
                             size_t match)
{
    size_t code = distance ? match - MIN_MATCH : 0;
    *to++ = (uint8_t)((count < 15 ? count : 15) << 4 | (code < 15 ? code : 15));
    if (count >= 15) {
        to = put_length(to, count - 15);
    }
    if (likely(count <= 32)) {
        copy_short(to, literals, count);
    }
    else {
        memcpy(to, literals, count);
    }
    to += count;
    if (distance) {
        *to++ = (uint8_t)distance;
        *to++ = (uint8_t)(distance >> 8);
        if (code >= 15) {
            to = put_length(to, code - 15);
        }
    }
    return to;
}

/* By six bytes: matches of four would take as long to write as they save. */
static inline size_t place_of(const uint8_t *at)
{
    return (size_t)((eight_bytes(at) << 16) * 0x9E3779B97F4A7C15u >> (64 - HASH_BITS));
}

/* Compresses into a target that has room for lz4_bound(count) bytes; returns how many it took. */
size_t lz4_compress(const uint8_t *source, size_t count, uint8_t *target)
{
    static uint32_t table[1 << HASH_BITS]; /* position plus 1; guarded by the GIL */
    uint8_t *to = target;
    const uint8_t *literals = source;
    if (count > MATCH_LIMIT) {
        memset(table, 0, sizeof table);
        const uint8_t *last_start = source + count - MATCH_LIMIT;
        const uint8_t *last_end = source + count - LAST_LITERALS;
        const uint8_t *at = source;
        while (at <= last_start) {
            uint32_t word = four_bytes(at);
            uint32_t *slot = &table[place_of(at)];
            const uint8_t *candidate = source + *slot - 1;
            bool fits = *slot != 0 && at - candidate <= MAX_DISTANCE &&
                        four_bytes(candidate) == word;
            *slot = (uint32_t)(at - source) + 1;
            if (!fits) {
                at += 1 + ((at - literals) >> 4); /* hurry through what does not compress */
                continue;
            }
            const uint8_t *end = at + MIN_MATCH;
            const uint8_t *old = candidate + MIN_MATCH;
            uint64_t differs = 0;
            while (end + 8 <= last_end &&
                   (differs = eight_bytes(end) ^ eight_bytes(old)) == 0) {
                end += 8;
                old += 8;
            }
            if (differs != 0) {
                end += first_byte(differs);
            }
            while (differs == 0 && end < last_end && *end == *old) {
                end++;
                old++;
            }
            to = put_sequence(to, literals, (size_t)(at - literals), (size_t)(at - candidate),
                              (size_t)(end - at));
            at = literals = end;
        }
    }
    to = put_sequence(to, literals, (size_t)(source + count - literals), 0, 0);
    return (size_t)(to - target);
}

static inline uint32_t little_endian(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[3] << 24;
}

uint32_t crc32_of(const uint8_t *bytes, size_t count)
{
    static uint32_t table[8][256];
    if (table[0][1] == 0) {
        for (uint32_t i = 0; i < 256; i++) {
            uint32_t value = i;
            for (int bit = 0; bit < 8; bit++) {
                value = value & 1 ? value >> 1 ^ 0xEDB88320u : value >> 1;
            }
            table[0][i] = value;
        }
        for (uint32_t i = 0; i < 256; i++) {
            for (int k = 1; k < 8; k++) {
                table[k][i] = table[k - 1][i] >> 8 ^ table[0][table[k - 1][i] & 255];
            }
        }
    }
    uint32_t crc = 0xFFFFFFFFu;
    for (; count >= 8; count -= 8, bytes += 8) {
        uint32_t one = crc ^ little_endian(bytes), two = little_endian(bytes + 4);
        crc = table[7][one & 255] ^ table[6][one >> 8 & 255] ^ table[5][one >> 16 & 255] ^
              table[4][one >> 24] ^ table[3][two & 255] ^ table[2][two >> 8 & 255] ^
              table[1][two >> 16 & 255] ^ table[0][two >> 24];
    }
    for (; count > 0; count--, bytes++) {
        crc = crc >> 8 ^ table[0][(crc ^ *bytes) & 255];
    }
    return ~crc;
}
