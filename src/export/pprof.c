/* Stacks for pprof: a profile.proto (github.com/google/pprof, proto/profile.proto), compressed by gzip. A sample is a
 * stack; its values are the times that the stack accounts for (analysis/gaps/code_times.h).
 *
 * A profile is a protobuf message whose fields repeat and may come in any order. So this code writes each string,
 * function, location and sample to the file when it first occurs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/salted.h"
#include "export/registry.h"
#include "export/stack_values.h"

/* The numbers of the fields of each message in profile.proto. */
enum { PROFILE_SAMPLE_TYPE = 1, PROFILE_SAMPLE, PROFILE_LOCATION = 4, PROFILE_FUNCTION, PROFILE_STRING };
enum { TYPE_TYPE = 1, TYPE_UNIT };
enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE };
enum { LOCATION_ID = 1, LOCATION_LINE = 4 };
enum { LINE_FUNCTION = 1, LINE_LINE };
enum { FUNCTION_ID = 1, FUNCTION_NAME, FUNCTION_FILE = 4, FUNCTION_LINE };

enum { VARINT = 0, BYTES = 2 }; /* how a field is encoded: as a varint, or as a length and that many bytes */
enum { LONGEST_VARINT = 10, LARGEST = (WS_CHAIN_MOST + 16) * (LONGEST_VARINT + 1) };

struct message {
    size_t size;
    uint8_t bytes[LARGEST];
};

struct pprof {
    gzFile out;
    bool failed;
    struct ws_map strings, functions, locations; /* hash of contents → id; of a string: index + 1 */
    uint64_t string_count, function_count, location_count;
};

/* --- messages ----------------------------------------------------------------------------------------- */

static void put_varint(struct message *message, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        message->bytes[message->size++] = (uint8_t)(value | 0x80);
    message->bytes[message->size++] = (uint8_t)value;
}

static void put_number(struct message *message, unsigned field, uint64_t value)
{
    put_varint(message, field << 3 | VARINT);
    put_varint(message, value);
}

static void put_message(struct message *message, unsigned field, const struct message *inner)
{
    put_varint(message, field << 3 | BYTES);
    put_varint(message, inner->size);
    memcpy(message->bytes + message->size, inner->bytes, inner->size);
    message->size += inner->size;
}

static void pprof_write(struct pprof *pprof, const void *bytes, size_t size)
{
    if (size && gzwrite(pprof->out, bytes, (unsigned)size) != (int)size)
        pprof->failed = true;
}

/* Writes one field of the profile to the file. */
static void emit(struct pprof *pprof, unsigned field, const void *bytes, size_t size)
{
    struct message head = { 0 };
    put_varint(&head, field << 3 | BYTES);
    put_varint(&head, size);
    pprof_write(pprof, head.bytes, head.size);
    pprof_write(pprof, bytes, size);
}

/* --- tables ------------------------------------------------------------------------------------------- */

/* Returns the text's index in the profile's table of strings. Adds the text to the table if it is new. */
static uint64_t string_index(struct pprof *pprof, const char *text)
{
    size_t length = strlen(text);
    uint64_t *index = ws_map_put(&pprof->strings, ws_salted_key(text, length));
    if (!index) {
        pprof->failed = true;
        return 0;
    }
    if (!*index) {
        emit(pprof, PROFILE_STRING, text, length);
        *index = ++pprof->string_count;
    }
    return *index - 1;
}

static uint64_t function_id(struct pprof *pprof, const char *name, const char *file, uint32_t line)
{
    const uint64_t key[] = { string_index(pprof, name), string_index(pprof, file), line };
    uint64_t *id = ws_map_put(&pprof->functions, ws_salted_key(key, sizeof(key)));
    struct message function = { 0 };
    if (!id) {
        pprof->failed = true;
        return 0;
    }
    if (!*id) {
        *id = ++pprof->function_count;
        put_number(&function, FUNCTION_ID, *id);
        put_number(&function, FUNCTION_NAME, key[0]);
        put_number(&function, FUNCTION_FILE, key[1]);
        put_number(&function, FUNCTION_LINE, line);
        emit(pprof, PROFILE_FUNCTION, function.bytes, function.size);
    }
    return *id;
}

static uint64_t location_id(struct pprof *pprof, uint64_t function, uint32_t line)
{
    const uint64_t key[] = { function, line };
    uint64_t *id = ws_map_put(&pprof->locations, ws_salted_key(key, sizeof(key)));
    struct message location = { 0 }, inner = { 0 };
    if (!id) {
        pprof->failed = true;
        return 0;
    }
    if (!*id) {
        *id = ++pprof->location_count;
        put_number(&inner, LINE_FUNCTION, function);
        put_number(&inner, LINE_LINE, line);
        put_number(&location, LOCATION_ID, *id);
        put_message(&location, LOCATION_LINE, &inner);
        emit(pprof, PROFILE_LOCATION, location.bytes, location.size);
    }
    return *id;
}

static uint64_t location_of_frame(struct pprof *pprof, const struct ws_stacks *stacks, uint32_t index)
{
    const struct ws_code *code = ws_stacks_code(stacks, index);
    uint64_t function = code ? function_id(pprof, code->name.data, code->file.data, code->first_line)
                             : function_id(pprof, "?", "", 0);
    return location_id(pprof, function, stacks->places[index].line);
}

/* --- samples ------------------------------------------------------------------------------------------ */

static void put_type(struct pprof *pprof, const char *name, const char *unit)
{
    struct message type = { 0 };
    put_number(&type, TYPE_TYPE, string_index(pprof, name));
    put_number(&type, TYPE_UNIT, string_index(pprof, unit));
    emit(pprof, PROFILE_SAMPLE_TYPE, type.bytes, type.size);
}

static void put_values(struct message *sample, const struct ws_code_time *time)
{
    put_number(sample, SAMPLE_VALUE, time->stacks);
#define VALUE(name, unit, member) put_number(sample, SAMPLE_VALUE, (uint64_t)time->member);
    WS_STACK_VALUES(VALUE)
#undef VALUE
}

static bool has_time(const struct ws_code_time *time)
{
    return time->stacks || time->host || time->device || time->idle;
}

/* Writes a stack and its times as a sample. The frames come innermost first; the last one, `root`, stands for the
 * process. */
static void pprof_put_sample(struct pprof *pprof, const struct ws_stack_values *values, size_t frame, uint64_t root)
{
    struct message sample = { 0 };
    uint32_t chain[WS_CHAIN_MOST];
    size_t depth = frame < values->count ? ws_frame_chain(&values->process->stacks, (uint32_t)frame, chain) : 0;
    while (depth)
        put_number(&sample, SAMPLE_LOCATION, location_of_frame(pprof, &values->process->stacks, chain[--depth]));
    put_number(&sample, SAMPLE_LOCATION, root);
    put_values(&sample, &values->times[frame]);
    emit(pprof, PROFILE_SAMPLE, sample.bytes, sample.size);
}

static int pprof_put_process(const struct ws_stack_values *values, void *user)
{
    struct pprof *pprof = user;
    const char *program = ws_process_meta(values->process, "program"), *pid = ws_process_meta(values->process, "pid");
    char name[256];
    snprintf(name, sizeof(name), "%s %s", program ? program : "?", pid ? pid : "");
    uint64_t root = location_id(pprof, function_id(pprof, name, "", 0), 0);
    for (size_t i = 0; i <= values->count && !pprof->failed; i++)
        if (has_time(&values->times[i]))
            pprof_put_sample(pprof, values, i, root);
    return pprof->failed ? -ENOMEM : 0;
}

static int write_profile(const struct ws_model *model, struct pprof *pprof, char *message, size_t capacity)
{
    string_index(pprof, ""); /* the first string must be empty */
    put_type(pprof, "stacks", "count");
#define TYPE(name, unit, member) put_type(pprof, name, unit);
    WS_STACK_VALUES(TYPE)
#undef TYPE
    return ws_for_stack_values(model, pprof_put_process, pprof, message, capacity);
}

static int write_pprof(const struct ws_model *model, FILE *file, const struct ws_model_options *options,
                       char *message, size_t capacity)
{
    struct pprof pprof = { 0 };
    int copy = fflush(file) ? -1 : dup(fileno(file));
    (void)options;
    pprof.out = copy >= 0 ? gzdopen(copy, "wb") : NULL;
    if (!pprof.out) {
        if (copy >= 0)
            close(copy);
        snprintf(message, capacity, "out of memory");
        return -ENOMEM;
    }
    int status = write_profile(model, &pprof, message, capacity);
    int closed = gzclose(pprof.out);
    if (!status && (pprof.failed || closed != Z_OK)) {
        status = -EIO;
        snprintf(message, capacity, "cannot write everything");
    }
    ws_map_finish(&pprof.strings);
    ws_map_finish(&pprof.functions);
    ws_map_finish(&pprof.locations);
    return status;
}

const struct ws_export_format ws_export_pprof = {
    .name = "pprof",
    .summary = "Python stacks for pprof, with the host, device and idle time that they stand for",
    .suffix = ".pb.gz",
    .analysed = true,
    .write = write_pprof,
};
