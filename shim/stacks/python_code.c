#include "shim/stacks/python_code.h"

#include <string.h>

#include "base/hash.h"
#include "base/minmax.h"
#include "shim/stacks/python_memory.h"

enum {
    SIZE_MOST = 1 << 30, /* an object with more bytes or characters is not plausible */
    PIECE = 256,         /* most bytes of a text or line table that are read at a time */
};

/* Where in the interpreter's memory the characters of a text or the bytes of a line table are. */
struct contents {
    const char *at;
    size_t size; /* number of bytes that are to be read */
    /* Number of bytes of a character; for a line table 1, or 0 if the table is too large to be kept. */
    unsigned width;
};

/* Reads the first `size` bytes of an object, in one system call if guarded. Returns false if the object's type is not
 * `type`. */
static bool read_head(const char *object, const void *type, char *head, size_t size, bool guarded)
{
    return is_plausible((uintptr_t)object) && read_memory(object, head, size, guarded) &&
           !memcmp(head + PYTHON_TYPE, &type, sizeof(type));
}

/* Finds the characters of a string object, but at most the first `most` characters. */
static bool find_text(const struct python_types *types, const char *object, size_t most, bool guarded,
                      struct contents *text)
{
    const struct python_layout *layout = types->layout;
    char head[PYTHON_TEXT_STATE + sizeof(uint32_t)];
    uint64_t length;
    uint32_t state;
    if (!read_head(object, types->text, head, sizeof(head), guarded))
        return false;
    memcpy(&length, head + PYTHON_TEXT_LENGTH, sizeof(length));
    memcpy(&state, head + PYTHON_TEXT_STATE, sizeof(state));
    bool is_compact = state >> 5 & 1, is_ascii = state >> 6 & 1;
    text->width = state >> 2 & 7;
    text->at = object + (is_ascii ? layout->text_ascii : layout->text_other);
    text->size = ws_min((size_t)length, most) * text->width;
    return length <= SIZE_MOST && is_compact && (text->width == 1 || text->width == 2 || text->width == 4);
}

static bool find_lines(const struct python_types *types, const char *object, bool guarded, struct contents *lines)
{
    char head[PYTHON_BYTES_SIZE + sizeof(uint64_t)];
    uint64_t size;
    if (!read_head(object, types->bytes, head, sizeof(head), guarded))
        return false;
    memcpy(&size, head + PYTHON_BYTES_SIZE, sizeof(size));
    bool is_kept = size <= PYTHON_LINES_MOST;
    *lines = (struct contents){ object + PYTHON_BYTES_DATA, is_kept ? (size_t)size : 0, is_kept };
    return size <= SIZE_MOST;
}

struct parts {
    uint32_t first_line;
    struct contents name, file, lines;
};

static bool find_parts(const struct python_types *types, const char *code, bool guarded, struct parts *parts)
{
    const struct python_layout *layout = types->layout;
    char head[PYTHON_CODE_FIELDS];
    const char *file, *name, *lines;
    if (!read_head(code, types->code, head, sizeof(head), guarded))
        return false;
    memcpy(&file, head + layout->code_file, sizeof(file));
    memcpy(&name, head + layout->code_name, sizeof(name));
    memcpy(&lines, head + layout->code_lines, sizeof(lines));
    memcpy(&parts->first_line, head + layout->code_first_line, sizeof(parts->first_line));
    return find_text(types, file, PYTHON_FILE_MOST, guarded, &parts->file) &&
           find_text(types, name, PYTHON_NAME_MOST, guarded, &parts->name) &&
           find_lines(types, lines, guarded, &parts->lines);
}

/* Adds a text or line table to a checksum. Reads it piece by piece, because a guarded read (through the kernel)
 * copies each piece into a buffer on the stack, which must be small. */
static bool add_contents(uint64_t *sum, const struct contents *contents, bool guarded)
{
    *sum += contents->size * 8 + contents->width;
    for (size_t done = 0; done < contents->size; done += PIECE) {
        char copy[PIECE];
        const char *piece = contents->at + done;
        size_t size = ws_min(contents->size - done, (size_t)PIECE);
        if (guarded && !read_memory(piece, copy, size, true))
            return false;
        *sum = XXH3_64bits_withSeed(guarded ? copy : piece, size, *sum);
    }
    return true;
}

static bool sum_of(const struct parts *parts, bool guarded, uint64_t *sum)
{
    *sum = parts->first_line;
    return add_contents(sum, &parts->name, guarded) && add_contents(sum, &parts->file, guarded) &&
           add_contents(sum, &parts->lines, guarded);
}

bool python_checksum(const struct python_types *types, const char *code, bool guarded, uint64_t *checksum)
{
    struct parts parts;
    return find_parts(types, code, guarded, &parts) && sum_of(&parts, guarded, checksum);
}

/* Appends the character `c` as UTF-8 to the text. Returns the text's new size, or `used` if there is no room. */
static size_t add_character(char *text, size_t used, size_t capacity, uint32_t c)
{
    char bytes[4];
    size_t size = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char first[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
    if (used + size >= capacity)
        return used;
    for (size_t i = size - 1; i; i--, c >>= 6)
        bytes[i] = (char)(0x80 | (c & 0x3f));
    bytes[0] = (char)(first[size] | c);
    memcpy(text + used, bytes, size);
    return used + size;
}

static bool read_text(const struct contents *contents, char *text, size_t capacity, bool guarded)
{
    size_t used = 0;
    for (size_t done = 0; done < contents->size && used + 4 < capacity; done += PIECE) {
        char piece[PIECE];
        size_t size = ws_min(contents->size - done, (size_t)PIECE);
        if (!read_memory(contents->at + done, piece, size, guarded))
            return false;
        for (size_t at = 0; at < size; at += contents->width) {
            uint32_t character = 0; /* little-endian */
            memcpy(&character, piece + at, contents->width);
            used = add_character(text, used, capacity, character);
        }
    }
    text[used] = 0;
    return true;
}

bool python_function(const struct python_types *types, const char *code, uint64_t checksum, bool guarded,
                     struct python_function *function)
{
    /* Only the drain (one thread of the shim) calls this function with `guarded` set, so one buffer for the copy is
     * enough. */
    static char copy[PYTHON_LINES_MOST];
    struct parts parts;
    uint64_t sum;
    if (!find_parts(types, code, guarded, &parts) ||
        !read_text(&parts.name, function->name, sizeof(function->name), guarded) ||
        !read_text(&parts.file, function->file, sizeof(function->file), guarded))
        return false;
    function->first_line = parts.first_line;
    function->lines = parts.lines.at;
    function->lines_size = parts.lines.size;
    function->coding = parts.lines.width ? types->layout->coding : WS_LINES_NONE;
    if (!guarded)
        return true;
    /* Another thread may free the code object while this thread copies it. So the copy is valid only if the object's
     * checksum is still `checksum` afterwards. */
    function->lines = copy;
    return read_memory(parts.lines.at, copy, parts.lines.size, true) && python_checksum(types, code, true, &sum) &&
           sum == checksum;
}
