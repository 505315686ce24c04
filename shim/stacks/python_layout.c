#include "shim/stacks/python_layout.h"

#include <stddef.h>
#include <string.h>

enum { NONE = PYTHON_ABSENT };

/* The columns are the fields of struct python_layout, in their order. */
/* clang-format off */
static const struct python_layout layouts[] = {
    { 0x0308, 16, NONE,  0, 24, 32, 24, NONE,  104, 1, NONE, 104, 112, 40, 120,   0, 48, 72, WS_LINES_LNOTAB, 0 },
    { 0x0309, 16, NONE,  0, 24, 32, 24, NONE,  104, 1, NONE, 104, 112, 40, 120,   0, 48, 72, WS_LINES_LNOTAB, 0 },
    { 0x030a, 16, NONE,  0, 24, 32, 24, NONE,   96, 2, NONE, 104, 112, 40, 120,   0, 48, 72, WS_LINES_RANGES, 0 },
    { 0x030b, 24,   56,  8,  0, 32, 48,   56, NONE, 0, NONE, 112, 128, 72, 136, 184, 48, 72, WS_LINES_LOCATIONS, 0 },
    { 0x030c, 24,   56,  0,  0,  0,  8,   56, NONE, 0,   70, 112, 128, 68, 136, 192, 40, 56, WS_LINES_LOCATIONS, 0 },
};
/* clang-format on */

/* From 3.13 on, `_PyRuntime` begins with `_Py_DebugOffsets`: words of 8 bytes, most of them offsets of fields. The
 * first three words are a cookie, the version, and whether the build is free-threaded. The order of the further words
 * depends on the version. So a struct words has, for one Python version, the index of each word that the shim needs.
 * The indices come from pycore_runtime.h of 3.13.0, and from pycore_debug_offsets.h as it was published for 3.14. */
enum { WORD_COOKIE, WORD_VERSION, WORD_FREE_THREADED };
struct words {
    uint16_t version;
    uint16_t runtime_finalizing;
    uint16_t thread_frame;
    uint16_t frame_size, frame_caller, frame_code, frame_pointer, frame_owner;
    uint16_t code_size, code_file, code_name, code_lines, code_first_line, code_start;
    uint16_t type, type_name, bytes_size, bytes_data, text_state, text_length, text_ascii;
    uint16_t code_tag;
};
static const struct words known_words[] = {
    { 0x030d, 4, 23, 28, 29, 30, 31, 33, 34, 35, 37, 38, 39, 43, 45, 47, 65, 66, 68, 69, 70, 0 },
    { 0x030e, 4, 26, 31, 32, 33, 34, 36, 39, 40, 42, 43, 44, 48, 51, 53, 75, 76, 78, 79, 80, 3 },
};

enum {
    OBJECT_MOST = 4096, /* most bytes of a frame or code object; a larger one is not plausible */
    /* Bits that are set in the lowest byte of a version if it is a release. Before a release, layouts may still
     * change. */
    RELEASED = 0xf0,
    TEXT_OTHER_BEHIND = 16, /* characters of non-ASCII texts start this many bytes later than those of ASCII texts */
};

/* Are the words at the indices in `at` plausible offsets? If this interpreter had another order of words, some
 * offsets would not be plausible. */
static bool is_sound(const uint64_t *words, const struct words *at)
{
    const uint16_t in_frame[] = { at->frame_caller, at->frame_code, at->frame_pointer, at->frame_owner };
    const uint16_t in_code[] = { at->code_file, at->code_name, at->code_lines, at->code_first_line };
    for (size_t i = 0; i < sizeof(in_frame) / sizeof(in_frame[0]); i++)
        if (words[in_frame[i]] >= words[at->frame_size])
            return false;
    for (size_t i = 0; i < sizeof(in_code) / sizeof(in_code[0]); i++)
        if (words[in_code[i]] > PYTHON_CODE_FIELDS - sizeof(void *))
            return false;
    return words[at->frame_size] < OBJECT_MOST && words[at->code_size] < OBJECT_MOST &&
           words[at->code_start] < words[at->code_size] && words[at->code_size] >= PYTHON_CODE_FIELDS &&
           words[at->thread_frame] < OBJECT_MOST && words[at->runtime_finalizing] < OBJECT_MOST &&
           words[at->type] == PYTHON_TYPE && words[at->type_name] == PYTHON_TYPE_NAME &&
           words[at->bytes_size] == PYTHON_BYTES_SIZE && words[at->bytes_data] == PYTHON_BYTES_DATA &&
           words[at->text_state] == PYTHON_TEXT_STATE && words[at->text_length] == PYTHON_TEXT_LENGTH &&
           words[at->text_ascii] == PYTHON_TEXT_STATE + 8;
}

static const char *read_words(const uint64_t *words, const struct words *at, struct python_layout *layout)
{
    if (memcmp(&words[WORD_COOKIE], "xdebugpy", 8) != 0 || words[WORD_VERSION] >> 16 != at->version ||
        (words[WORD_VERSION] & RELEASED) != RELEASED)
        return "before its release";
    if (words[WORD_FREE_THREADED])
        return "without GIL";
    if (!is_sound(words, at))
        return "with other offsets";
    *layout = (struct python_layout){
        .version = at->version,
        .runtime_finalizing = (uint16_t)words[at->runtime_finalizing],
        .thread_cframe = NONE,
        .thread_frame = (uint16_t)words[at->thread_frame],
        .frame_code = (uint16_t)words[at->frame_code],
        .frame_caller = (uint16_t)words[at->frame_caller],
        .frame_pointer = (uint16_t)words[at->frame_pointer],
        .frame_index = NONE,
        .frame_owner = (uint16_t)words[at->frame_owner],
        .code_file = (uint16_t)words[at->code_file],
        .code_name = (uint16_t)words[at->code_name],
        .code_first_line = (uint16_t)words[at->code_first_line],
        .code_lines = (uint16_t)words[at->code_lines],
        .code_start = (uint16_t)words[at->code_start],
        .text_ascii = (uint16_t)words[at->text_ascii],
        .text_other = (uint16_t)(words[at->text_ascii] + TEXT_OTHER_BEHIND),
        .coding = WS_LINES_LOCATIONS,
        .code_tag = at->code_tag,
    };
    return NULL;
}

const char *python_layout(uint32_t version, const void *runtime, struct python_layout *layout)
{
    for (size_t i = 0; i < sizeof(known_words) / sizeof(known_words[0]); i++)
        if (known_words[i].version == version)
            return read_words(runtime, &known_words[i], layout);
    for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
        if (layouts[i].version == version) {
            *layout = layouts[i];
            return NULL;
        }
    return "";
}
