/* Skips values: finds their end, whether they are complete, and their digest. */
#include "scan.h"

enum {
    UNBOUND, NONE, TRUE_VALUE, FALSE_VALUE, WHOLE, LARGE, FLOAT, COMPLEX, STRING, CUT_STRING,
    BYTES, BYTEARRAY,
    LIST = 0x10, TUPLE, SET, FROZENSET, DICT, OBJECT, SUBCLASS, EXCEPTION, OPAQUE, SUMMARY,
    CLASS, FUNCTION, METHOD, MODULE, SAME, INPUT, REFERENCE, LEFT_OUT, SECRET,
    SMALL = 0x80
};

enum { MAX_SECRET_KIND = 2, SECRET_DIGEST = 8 };

static bool skip_value(Scan *scan, int nesting);

bool read_name_number(Scan *scan, uint64_t *number)
{
    if (!read_v(scan, number)) {
        return false;
    }
    return *number < scan->names.count || malformed(scan, "there is no name of this number");
}

static bool skip_name(Scan *scan)
{
    uint64_t number;
    return read_name_number(scan, &number);
}

/* Skips the name of a function; a vague name may belong to many functions. */
static bool skip_function_name(Scan *scan)
{
    uint64_t number;
    if (!read_name_number(scan, &number)) {
        return false;
    }
    if (((Name *)scan->names.items)[number].vague) {
        scan->last.complete = false;
    }
    return true;
}

static bool skip_type(Scan *scan)
{
    uint64_t number;
    if (!read_v(scan, &number)) {
        return false;
    }
    return number < scan->types.count || malformed(scan, "there is no type of this number");
}

/* How many of `length` parts or bytes are stored. */
static bool read_stored(Scan *scan, uint64_t length, uint64_t *stored)
{
    if (!read_v(scan, stored)) {
        return false;
    }
    if (*stored > length) {
        return malformed(scan, "more of a value is stored than there is");
    }
    if (*stored < length) {
        scan->last.complete = false;
    }
    return true;
}

static bool may_go_below(Scan *scan, int nesting)
{
    return nesting < MAX_NESTING || malformed(scan, "a value is nested more than 100 levels deep");
}

static bool skip_stored_bytes(Scan *scan, uint64_t length)
{
    uint64_t stored;
    return read_stored(scan, length, &stored) && skip_bytes(scan, stored);
}

static bool skip_parts(Scan *scan, int nesting, bool pairs)
{
    uint64_t length, stored;
    if (!read_v(scan, &length) || !read_stored(scan, length, &stored)) {
        return false;
    }
    if (stored && !may_go_below(scan, nesting)) {
        return false;
    }
    for (; stored; stored--) {
        if (pairs && !skip_value(scan, nesting + 1)) {
            return false;
        }
        if (!skip_value(scan, nesting + 1)) {
            return false;
        }
    }
    return true;
}

static bool skip_attributes(Scan *scan, int nesting)
{
    uint64_t length, stored;
    if (!read_v(scan, &length) || !read_stored(scan, length, &stored)) {
        return false;
    }
    if (stored && !may_go_below(scan, nesting)) {
        return false;
    }
    for (; stored; stored--) {
        if (!skip_name(scan) || !skip_value(scan, nesting + 1)) {
            return false;
        }
    }
    return true;
}

/* An instance of a subclass of a builtin, or an exception: its content, then its attributes. */
static bool skip_built_in(Scan *scan, uint8_t kind, int nesting)
{
    Reader *reader = &scan->reader;
    if (!skip_type(scan)) {
        return false;
    }
    if (reader->place >= reader->length) {
        return malformed(scan, "a record breaks off");
    }
    uint8_t content = reader->data[reader->place];
    bool fits = kind == EXCEPTION
                    ? content == TUPLE
                    : content >= SMALL || (content >= WHOLE && content <= BYTEARRAY) ||
                          (content >= LIST && content <= DICT) || content == OPAQUE ||
                          content == SECRET;
    if (!fits) {
        return malformed(scan, "an instance of a subclass has no content");
    }
    return may_go_below(scan, nesting) && skip_value(scan, nesting + 1) &&
           skip_attributes(scan, nesting);
}

static bool skip_summary(Scan *scan)
{
    uint8_t says_all;
    if (!skip_type(scan) || !read_byte(scan, &says_all)) {
        return false;
    }
    if (says_all != 1) {
        scan->last.complete = false;
    }
    return skip_text(scan);
}

/* What stands for a secret: its kind, its length and its digest. */
static bool skip_secret(Scan *scan)
{
    uint8_t kind;
    uint64_t length;
    if (!read_byte(scan, &kind)) {
        return false;
    }
    if (kind > MAX_SECRET_KIND) {
        return malformed(scan, "there is no secret of this kind");
    }
    return read_v(scan, &length) && skip_bytes(scan, SECRET_DIGEST);
}

static bool skip_same(Scan *scan)
{
    uint64_t back;
    if (!read_v(scan, &back)) {
        return false;
    }
    return (back >= 1 && back <= scan->containers) ||
           malformed(scan, "a value is the same as one that does not exist");
}

static bool skip_value(Scan *scan, int nesting)
{
    uint8_t kind, sign;
    uint64_t number;
    if (!read_byte(scan, &kind)) {
        return false;
    }
    if (kind >= SMALL || kind <= FALSE_VALUE) {
        return true;
    }
    if ((kind >= LIST && kind <= SUMMARY) || kind == BYTEARRAY || kind == METHOD) {
        scan->containers++;
    }
    switch (kind) {
    case WHOLE:
    case INPUT:
        return read_v(scan, &number);
    case LARGE:
        return read_byte(scan, &sign) && read_v(scan, &number) &&
               skip_stored_bytes(scan, number / 8 + (number % 8 != 0));
    case FLOAT:
        return skip_bytes(scan, 8);
    case COMPLEX:
        return skip_bytes(scan, 16);
    case STRING:
        return skip_text(scan);
    case CUT_STRING:
        scan->last.complete = false;
        return read_v(scan, &number) && skip_text(scan);
    case BYTES:
    case BYTEARRAY:
        return read_v(scan, &number) && skip_stored_bytes(scan, number);
    case LIST:
    case TUPLE:
    case SET:
    case FROZENSET:
        return skip_parts(scan, nesting, false);
    case DICT:
        return skip_parts(scan, nesting, true);
    case OBJECT:
        return skip_type(scan) && skip_attributes(scan, nesting);
    case SUBCLASS:
    case EXCEPTION:
        return skip_built_in(scan, kind, nesting);
    case OPAQUE:
        scan->last.complete = false;
        return skip_type(scan);
    case SUMMARY:
        return skip_summary(scan);
    case CLASS:
        return skip_type(scan);
    case FUNCTION:
        return skip_name(scan) && skip_function_name(scan);
    case METHOD:
        return skip_function_name(scan) && may_go_below(scan, nesting) &&
               skip_value(scan, nesting + 1);
    case MODULE:
        return skip_name(scan);
    case SAME:
        return skip_same(scan);
    case LEFT_OUT:
        scan->last.complete = false;
        return true;
    case SECRET:
        return skip_secret(scan);
    default:
        return malformed(scan, "there is no value of this kind here");
    }
}

/* Skips a root value and describes it in `scan->last`. */
bool skip_root(Scan *scan)
{
    Reader *reader = &scan->reader;
    if (reader->place < reader->length && reader->data[reader->place] == REFERENCE) {
        uint64_t distance;
        reader->place++;
        if (!read_v(scan, &distance)) {
            return false;
        }
        if (distance < 1 || distance > scan->roots.count) {
            return malformed(scan, "a value refers to one that does not exist");
        }
        scan->last = ((Root *)scan->roots.items)[scan->roots.count - (size_t)distance];
        return true;
    }
    size_t start = reader->place;
    scan->last.complete = true;
    scan->containers = 0;
    if (!skip_value(scan, 0)) {
        return false;
    }
    size_t size = reader->place - start;
    scan->last.at = scan->base | (int64_t)start;
    scan->last.size = (uint32_t)size;
    scan->last.digest = digest_of(reader->data + start, size);
    if (size >= NUMBERED) {
        Root *kept = column_next(&scan->roots);
        if (kept == NULL) {
            return false;
        }
        *kept = scan->last;
    }
    return true;
}
