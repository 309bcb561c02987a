/* Secrets: what record/secret_values.py defines. Which names and texts say that a value is one, and
 * the keyed digest (BLAKE2s, RFC 7693) that is recorded in its place. */
#include "encoding.h"

enum { SALT_SIZE = 32, BLOCK = 64, LONGEST_NAME = 128, LONGEST_KEY = 4096, SHORT_TOKEN = 8 };
enum { SECRET_TEXT, SECRET_BYTES, SECRET_NUMBER, SECRET_DIGEST = 8 };

static bool active;
static uint8_t salt[SALT_SIZE];
static char **patterns; /* in lower case */
static size_t pattern_count;
uint8_t *name_leasts;
static size_t name_leasts_size;
KeyLeast key_leasts[KEY_LEASTS];

/* ---- the digest ---- */

static const uint32_t INITIAL[8] = {0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A,
                                    0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19};
static const uint8_t ORDER[10][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
    {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
    {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
    {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
    {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
};
static const uint8_t MIXED[8][4] = {{0, 4, 8, 12}, {1, 5, 9, 13}, {2, 6, 10, 14}, {3, 7, 11, 15},
                                    {0, 5, 10, 15}, {1, 6, 11, 12}, {2, 7, 8, 13}, {3, 4, 9, 14}};

static inline uint32_t rotated(uint32_t word, int bits) { return word >> bits | word << (32 - bits); }

static void compress(uint32_t state[8], const uint8_t block[BLOCK], uint64_t count, bool last)
{
    uint32_t v[16], words[16];
    for (int i = 0; i < 16; i++) {
        const uint8_t *at = block + 4 * i;
        words[i] = (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
                   (uint32_t)at[3] << 24;
    }
    memcpy(v, state, 8 * sizeof *v);
    memcpy(v + 8, INITIAL, 8 * sizeof *v);
    v[12] ^= (uint32_t)count;
    v[13] ^= (uint32_t)(count >> 32);
    v[14] = last ? ~v[14] : v[14];
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < 8; i++) {
            uint32_t *a = &v[MIXED[i][0]], *b = &v[MIXED[i][1]];
            uint32_t *c = &v[MIXED[i][2]], *d = &v[MIXED[i][3]];
            *a += *b + words[ORDER[round][2 * i]];
            *d = rotated(*d ^ *a, 16);
            *c += *d;
            *b = rotated(*b ^ *c, 12);
            *a += *b + words[ORDER[round][2 * i + 1]];
            *d = rotated(*d ^ *a, 8);
            *c += *d;
            *b = rotated(*b ^ *c, 7);
        }
    }
    for (int i = 0; i < 8; i++) {
        state[i] ^= v[i] ^ v[i + 8];
    }
}

/* The digest of one byte and of what follows it. */
static void keyed_digest(uint8_t first, const uint8_t *data, size_t size,
                         uint8_t digest[SECRET_DIGEST])
{
    uint32_t state[8];
    memcpy(state, INITIAL, sizeof state);
    state[0] ^= 0x01010000u ^ (uint32_t)SALT_SIZE << 8 ^ SECRET_DIGEST;
    uint8_t block[BLOCK] = {0};
    memcpy(block, salt, SALT_SIZE);
    compress(state, block, BLOCK, false);
    size_t total = size + 1, done = 0;
    while (done < total) {
        size_t piece = Py_MIN(total - done, (size_t)BLOCK);
        memset(block, 0, BLOCK);
        if (done == 0) {
            block[0] = first;
            memcpy(block + 1, data, piece - 1);
        }
        else {
            memcpy(block, data + done - 1, piece);
        }
        done += piece;
        compress(state, block, BLOCK + done, done == total);
    }
    for (int i = 0; i < SECRET_DIGEST; i++) {
        digest[i] = (uint8_t)(state[i / 4] >> 8 * (i % 4));
    }
}

/* ---- names ---- */

static const struct {
    const char *word;
    uint8_t least;
} WORDS[] = {
    {"password", 1}, {"passwords", 1}, {"passwd", 1}, {"pwd", 1}, {"passphrase", 1},
    {"passcode", 1}, {"secret", 1}, {"secrets", 1}, {"apikey", 1}, {"accesskey", 1},
    {"privatekey", 1}, {"signingkey", 1}, {"encryptionkey", 1}, {"auth", 1},
    {"authorization", 1}, {"cookie", 1}, {"cookies", 1}, {"sessionid", 1}, {"credential", 1},
    {"credentials", 1}, {"token", SHORT_TOKEN}, {"bearer", SHORT_TOKEN}, {"jwt", SHORT_TOKEN},
};

static inline bool is_upper(uint8_t c) { return c >= 'A' && c <= 'Z'; }
static inline bool is_lower(uint8_t c) { return c >= 'a' && c <= 'z'; }
static inline bool is_digit(uint8_t c) { return c >= '0' && c <= '9'; }
static inline uint8_t lower(uint8_t c) { return is_upper(c) ? c + 32 : c; }
static inline bool is_key_char(uint8_t c)
{
    return is_upper(c) || is_lower(c) || is_digit(c) || c == '_' || c == '-';
}

static uint8_t least_of_word(const char *text, size_t size)
{
    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++) {
        if (strlen(WORDS[i].word) == size && memcmp(WORDS[i].word, text, size) == 0) {
            return WORDS[i].least;
        }
    }
    return 0;
}

/* The size of the word that begins here: capitals without the one that begins the next word, a
 * capital with small letters, small letters, or digits; 0 between words. */
static size_t word_size(const uint8_t *at, size_t size)
{
    size_t count = 0;
    if (is_upper(at[0])) {
        while (count < size && is_upper(at[count])) {
            count++;
        }
        if (count == size || !is_lower(at[count])) {
            return count;
        }
        if (count > 1) {
            return count - 1;
        }
    }
    else if (is_digit(at[0])) {
        while (count < size && is_digit(at[count])) {
            count++;
        }
        return count;
    }
    while (count < size && (is_lower(at[count]) || at[count] >= 0x80)) {
        count++;
    }
    return count;
}

static bool glob_matches(const char *pattern, const char *text, const char *end)
{
    for (; *pattern != '\0'; pattern++) {
        if (*pattern == '*') {
            for (const char *rest = text; rest <= end; rest++) {
                if (glob_matches(pattern + 1, rest, end)) {
                    return true;
                }
            }
            return false;
        }
        if (text == end || (*pattern != '?' && *pattern != *text)) {
            return false;
        }
        text++;
    }
    return text == end;
}

/* How long a text must be to be a secret under this name; 0: it is none. */
uint8_t least_of_name(const uint8_t *name, size_t size)
{
    if (!active) {
        return 0;
    }
    size = Py_MIN(size, (size_t)LONGEST_NAME);
    char small[LONGEST_NAME];
    for (size_t i = 0; i < size; i++) {
        small[i] = (char)lower(name[i]);
    }
    for (size_t i = 0; i < pattern_count; i++) {
        if (glob_matches(patterns[i], small, small + size)) {
            return 1;
        }
    }
    char pair[LONGEST_NAME];
    size_t before = 0; /* the size of the word before, which is at the start of `pair` */
    uint8_t least = 0;
    for (size_t at = 0; at < size;) {
        size_t count = word_size(name + at, size - at);
        if (count == 0) {
            at++;
            continue;
        }
        memcpy(pair + before, small + at, count);
        uint8_t alone = least_of_word(small + at, count);
        uint8_t joined = least_of_word(pair, before + count);
        least = least == 0 || alone == 1 ? alone : least;
        least = least == 0 || joined == 1 ? joined : least;
        memcpy(pair, small + at, count);
        before = count;
        at += count;
    }
    return least;
}

bool names_room(uint32_t number)
{
    if (number < name_leasts_size) {
        return true;
    }
    size_t size = Py_MAX((size_t)number + 1, name_leasts_size * 2);
    uint8_t *leasts = PyMem_RawRealloc(name_leasts, size);
    if (leasts == NULL) {
        return false;
    }
    memset(leasts + name_leasts_size, 0, size - name_leasts_size);
    name_leasts = leasts;
    name_leasts_size = size;
    return true;
}

/* For the name of a parameter, or the key of a dict. */
uint8_t least_of_text(PyObject *name)
{
    uint8_t bytes[LONGEST_NAME * 4];
    if (!active || name == NULL || !PyUnicode_Check(name)) {
        return 0;
    }
    Py_ssize_t length = Py_MIN(PyUnicode_GET_LENGTH(name), LONGEST_NAME);
    return least_of_name(bytes, encode_utf8(name, length, bytes));
}

uint8_t key_least_new(PyObject *key, KeyLeast *slot)
{
    *slot = (KeyLeast){((PyASCIIObject *)key)->hash, least_of_text(key)};
    return slot->least;
}

/* ---- keys of well-known services ---- */

static size_t run(const uint8_t *at, const uint8_t *end, const char *more)
{
    const uint8_t *start = at;
    while (at < end && *at != '\0' && (is_key_char(*at) || strchr(more, *at) != NULL)) {
        at++;
    }
    return (size_t)(at - start);
}

static bool has_prefix(const uint8_t *at, const uint8_t *end, const char *prefix)
{
    size_t size = strlen(prefix);
    return (size_t)(end - at) >= size && memcmp(at, prefix, size) == 0;
}

static const struct {
    const char *prefix;
    size_t least;
} PREFIXES[] = {
    {"AKIA", 12}, {"ASIA", 12}, {"AIza", 20}, {"ghp_", 16}, {"gho_", 16}, {"ghu_", 16},
    {"ghs_", 16}, {"ghr_", 16}, {"github_pat_", 10}, {"glpat-", 10}, {"xoxa-", 10}, {"xoxb-", 10},
    {"xoxe-", 10}, {"xoxp-", 10}, {"xoxr-", 10}, {"xoxs-", 10}, {"sk_live_", 10},
    {"rk_live_", 10}, {"sk-ant-", 10}, {"sk-proj-", 10},
};
static const char SCHEME_CHARS[] = ".+/=~";

static size_t token_size(const uint8_t *at, const uint8_t *end)
{
    const uint8_t *first = at + 3, *dot = first + run(first, end, "");
    if (dot == first || dot == end || *dot != '.') {
        return 0;
    }
    const uint8_t *second = dot + 1, *next = second + run(second, end, "");
    if (next == second || next == end || *next != '.') {
        return 0;
    }
    return (size_t)(next + 1 + run(next + 1, end, "") - at);
}

static size_t scheme_size(const uint8_t *at, const uint8_t *end, size_t prefix)
{
    size_t size = run(at + prefix, end, SCHEME_CHARS);
    const uint8_t *stop = at + prefix + size;
    return size >= 8 && (stop == end || *stop != ' ') ? prefix + size : 0;
}

static size_t label_size(const uint8_t *at, const uint8_t *end, size_t most)
{
    size_t size = 0;
    while (at + size < end && size <= most &&
           (is_upper(at[size]) || is_digit(at[size]) || at[size] == ' ')) {
        size++;
    }
    return size;
}

static size_t pem_size(const uint8_t *at, const uint8_t *end)
{
    static const char KIND[] = "PRIVATE KEY";
    enum { BEGIN = 11, END = 9, LABEL = 40, KIND_SIZE = sizeof KIND - 1 };
    size_t size = label_size(at + BEGIN, end, LABEL + KIND_SIZE);
    const uint8_t *stop = at + BEGIN + size;
    if (size < KIND_SIZE || size > LABEL + KIND_SIZE || !has_prefix(stop, end, "-----") ||
        memcmp(stop - KIND_SIZE, KIND, KIND_SIZE) != 0) {
        return 0;
    }
    for (stop += 5; stop < end; stop++) {
        if (*stop == '-' && has_prefix(stop, end, "-----END ")) {
            size_t label = label_size(stop + END, end, LABEL);
            if (label <= LABEL && has_prefix(stop + END + label, end, "-----")) {
                return (size_t)(stop + END + label + 5 - at);
            }
        }
    }
    return (size_t)(end - at);
}

/* The size of the key that begins here; 0: there is none. */
static size_t prefixed_key(const uint8_t *at, const uint8_t *end)
{
    switch (*at) {
    case 'e':
        return has_prefix(at, end, "eyJ") ? token_size(at, end) : 0;
    case 'B':
    case 'b':
        return has_prefix(at + 1, end, "earer ")  ? scheme_size(at, end, 7)
               : has_prefix(at + 1, end, "asic ") ? scheme_size(at, end, 6)
                                                  : 0;
    case '-':
        return has_prefix(at, end, "-----BEGIN ") ? pem_size(at, end) : 0;
    case 'A':
    case 'g':
    case 'x':
    case 's':
    case 'r':
        for (size_t i = 0; i < sizeof PREFIXES / sizeof *PREFIXES; i++) {
            if (has_prefix(at, end, PREFIXES[i].prefix)) {
                size_t size = run(at, end, "");
                return size >= strlen(PREFIXES[i].prefix) + PREFIXES[i].least ? size : 0;
            }
        }
        return 0;
    default:
        return 0;
    }
}

static inline bool is_scheme_char(uint8_t c)
{
    return is_upper(c) || is_lower(c) || is_digit(c) || c == '+' || c == '.' || c == '-';
}

static size_t part_size(const uint8_t *at, const uint8_t *end, bool with_colon)
{
    const uint8_t *start = at;
    while (at < end && *at != ' ' && !(*at >= '\t' && *at <= '\r') && *at != '\0' &&
           strchr("/@?#\"'<>", *at) == NULL && (with_colon || *at != ':')) {
        at++;
    }
    return (size_t)(at - start);
}

/* The size of a URL up to the host, if a user and a password are before it. */
static size_t url_with_password(const uint8_t *at, const uint8_t *end)
{
    size_t scheme = 0;
    if (!is_upper(at[0]) && !is_lower(at[0])) {
        return 0;
    }
    while (at + scheme < end && scheme <= 31 && is_scheme_char(at[scheme])) {
        scheme++;
    }
    if (scheme < 2 || scheme > 31 || !has_prefix(at + scheme, end, "://")) {
        return 0;
    }
    const uint8_t *place = at + scheme + 3;
    place += part_size(place, end, false);
    if (place == end || *place != ':') {
        return 0;
    }
    size_t password = part_size(place + 1, end, true);
    place += 1 + password;
    return password > 0 && place < end && *place == '@' ? (size_t)(place + 1 - at) : 0;
}

bool begins_with_key(const uint8_t *text, size_t size)
{
    if (!active || size < LEAST_KEY) {
        return false;
    }
    const uint8_t *end = text + Py_MIN(size, (size_t)LONGEST_KEY);
    return prefixed_key(text, end) > 0 || url_with_password(text, end) > 0;
}

/* ---- what is written instead ---- */

static void put_secret(Snapshot *s, uint8_t kind, uint64_t length, const uint8_t *data, size_t size)
{
    uint8_t digest[SECRET_DIGEST];
    keyed_digest(kind, data, size, digest);
    put_byte(s->out, V_SECRET);
    put_byte(s->out, kind);
    put_number(s->out, length);
    put_bytes(s->out, digest, sizeof digest);
}

/* The data stands behind the end of the buffer until its digest is there. */
void write_secret_text(Snapshot *s, PyObject *text)
{
    Py_ssize_t length = PyUnicode_GET_LENGTH(text);
    if (PyUnicode_IS_ASCII(text)) {
        if (room(s, ATOM_ROOM)) {
            put_secret(s, SECRET_TEXT, (uint64_t)length, PyUnicode_DATA(text), (size_t)length);
        }
        return;
    }
    if (room(s, ATOM_ROOM + (size_t)length * 4)) {
        uint8_t *data = buffer_end(s->out) + ATOM_ROOM;
        put_secret(s, SECRET_TEXT, (uint64_t)length, data, encode_utf8(text, length, data));
    }
}

void write_secret_bytes(Snapshot *s, const char *bytes, Py_ssize_t length)
{
    if (room(s, ATOM_ROOM)) {
        put_secret(s, SECRET_BYTES, (uint64_t)length, (const uint8_t *)bytes, (size_t)length);
    }
}

/* A number of at least four digits, or as many as the name asks for. Returns false for others. */
bool write_secret_number(Snapshot *s, PyObject *number)
{
    long long value;
    if (small_number(number, &value)) {
        unsigned long long size = value < 0 ? -(unsigned long long)value : (unsigned long long)value;
        unsigned long long least = 1000;
        for (int digits = 4; digits < s->least; digits++) {
            least *= 10;
        }
        if (size < least) {
            return false;
        }
        uint8_t data[9] = {value < 0};
        size_t count = 1;
        uint64_t bits = 0;
        for (unsigned long long left = size; left != 0; left >>= 1) {
            bits++;
        }
        for (; size != 0; size >>= 8) {
            data[count++] = (uint8_t)size;
        }
        put_secret(s, SECRET_NUMBER, bits, data, count);
        return true;
    }
    const digit *digits = number_digit(number);
    Py_ssize_t digit_count = number_digits(number);
    uint64_t bits = (uint64_t)(digit_count - 1) * PyLong_SHIFT;
    for (digit top = digits[digit_count - 1]; top != 0; top >>= 1) {
        bits++;
    }
    size_t bytes = (size_t)((bits + 7) / 8);
    if (!room(s, ATOM_ROOM + bytes + 1)) {
        return true;
    }
    uint8_t *data = buffer_end(s->out) + ATOM_ROOM;
    data[0] = number_is_negative(number);
    for (size_t byte = 0; byte < bytes; byte++) {
        uint64_t bit = (uint64_t)byte * 8;
        Py_ssize_t index = (Py_ssize_t)(bit / PyLong_SHIFT);
        uint64_t word = digits[index];
        if (index + 1 < digit_count) {
            word |= (uint64_t)digits[index + 1] << PyLong_SHIFT;
        }
        data[1 + byte] = (uint8_t)(word >> bit % PyLong_SHIFT);
    }
    put_secret(s, SECRET_NUMBER, bits, data, bytes + 1);
    return true;
}

/* Any value under a name of secrets, in the room for an atom that the caller made. */
long write_under_secret_name(Snapshot *s, PyObject *value, long depth, long budget)
{
    PyTypeObject *type = Py_TYPE(value);
    if (type == &PyLong_Type && write_secret_number(s, value)) {
        return 1;
    }
    if (type != &PyUnicode_Type || PyUnicode_GET_LENGTH(value) < s->least) {
        const uint8_t *end = atom_at(buffer_end(s->out), value, s->bound);
        if (end != NULL) {
            set_buffer_end(s->out, end);
            return 1;
        }
    }
    return write_compound(s, value, depth, budget);
}

/* ---- printed text ---- */

/* The first key in a text, and its size. */
static const uint8_t *find_key(const uint8_t *start, const uint8_t *end, size_t *size)
{
    for (const uint8_t *at = start; at < end; at++) {
        if (*at == ':' && has_prefix(at, end, "://")) {
            const uint8_t *scheme = at;
            while (scheme > start && at - scheme < 31 && is_scheme_char(scheme[-1])) {
                scheme--;
            }
            while (scheme < at && !is_upper(*scheme) && !is_lower(*scheme)) {
                scheme++;
            }
            *size = scheme < at && (scheme == start || !is_scheme_char(scheme[-1]))
                        ? url_with_password(scheme, end)
                        : 0;
            if (*size > 0) {
                return scheme;
            }
        }
        else if (at == start || !is_key_char(at[-1])) {
            *size = prefixed_key(at, end);
            if (*size > 0) {
                return at;
            }
        }
    }
    return NULL;
}

/* Replaces the keys in a text that a buffer holds. Returns false if there is no memory. */
bool replace_keys(Buffer *text)
{
    size_t size;
    const uint8_t *key;
    if (!active || (key = find_key(text->bytes, buffer_end(text), &size)) == NULL) {
        return true;
    }
    Buffer out = {NULL, 0, 0};
    const uint8_t *rest = text->bytes;
    bool done = true;
    while (done && key != NULL) {
        enum { SHOWN = 80 };
        uint8_t digest[SECRET_DIGEST];
        char shown[SHOWN], number[32], grouped[48];
        keyed_digest(SECRET_TEXT, key, size, digest);
        int digits = snprintf(number, sizeof number, "%zu", size), place = 0;
        for (int i = 0; i < digits; i++) {
            if (i > 0 && (digits - i) % 3 == 0) {
                grouped[place++] = ',';
            }
            grouped[place++] = number[i];
        }
        grouped[place] = '\0';
        int count = snprintf(shown, sizeof shown,
                             "<secret %02x%02x%02x%02x%02x%02x…, %s characters>", digest[0],
                             digest[1], digest[2], digest[3], digest[4], digest[5], grouped);
        done = buffer_room(&out, (size_t)(key - rest) + (size_t)count);
        if (done) {
            put_bytes(&out, rest, (size_t)(key - rest));
            put_bytes(&out, shown, (size_t)count);
            rest = key + size;
            key = find_key(rest, buffer_end(text), &size);
        }
    }
    size_t left = (size_t)(buffer_end(text) - rest);
    done = done && buffer_room(&out, left);
    if (done) {
        put_bytes(&out, rest, left);
        text->length = 0;
        done = buffer_room(text, out.length);
    }
    if (done) {
        put_bytes(text, out.bytes, out.length);
    }
    PyMem_RawFree(out.bytes);
    return done;
}

/* ---- settings ---- */

static void forget(void)
{
    for (size_t i = 0; i < pattern_count; i++) {
        PyMem_RawFree(patterns[i]);
    }
    PyMem_RawFree(patterns);
    patterns = NULL;
    pattern_count = 0;
    if (name_leasts != NULL) {
        memset(name_leasts, 0, name_leasts_size);
    }
    memset(key_leasts, 0, sizeof key_leasts);
    active = false;
    recorder.least_key = PY_SSIZE_T_MAX;
}

/* Takes the salt (empty: nothing is a secret) and the patterns of names, as bytes in lower case. */
bool secrets_set(PyObject *new_salt, PyObject *new_patterns)
{
    forget();
    if (!names_room(1023)) {
        return false;
    }
    if (PyBytes_GET_SIZE(new_salt) != SALT_SIZE) {
        return true;
    }
    Py_ssize_t count = PyTuple_GET_SIZE(new_patterns);
    patterns = PyMem_RawCalloc((size_t)count + 1, sizeof *patterns);
    if (patterns == NULL) {
        return false;
    }
    for (; pattern_count < (size_t)count; pattern_count++) {
        PyObject *pattern = PyTuple_GET_ITEM(new_patterns, (Py_ssize_t)pattern_count);
        size_t size = PyBytes_Check(pattern) ? (size_t)PyBytes_GET_SIZE(pattern) : 0;
        char *copy = PyMem_RawCalloc(size + 1, 1);
        if (copy == NULL) {
            return false;
        }
        if (size > 0) {
            memcpy(copy, PyBytes_AS_STRING(pattern), size);
        }
        patterns[pattern_count] = copy;
    }
    memcpy(salt, PyBytes_AS_STRING(new_salt), SALT_SIZE);
    active = true;
    recorder.least_key = LEAST_KEY;
    return true;
}
