/* Stacks for speedscope (https://www.speedscope.app): for each process one profile of host time, one of device time
 * and one of idle time. The weight of a stack in a profile is the time that the stack accounts for
 * (analysis/gaps/code_times.h). The format is that of speedscope's file-format-schema.json. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/salted.h"
#include "export/registry.h"
#include "export/stack_values.h"
#include "export/text_out.h"

/* Frames and profiles go to two temporary files at first: in the output the list of all frames comes before the
 * profiles, but the list is complete only after the last profile. */
struct speedscope {
    struct ws_text_out *frames, *profiles;
    struct ws_map known; /* hash of name, file and line → number of the frame + 1 */
    uint32_t frame_count;
    bool any_profile;
};

/* Returns the frame's number, or -ENOMEM. Frames with the same function and line share one number. */
static int64_t frame_number(struct speedscope *scope, const struct ws_stacks *stacks, uint32_t index)
{
    const struct ws_code *code = ws_stacks_code(stacks, index);
    const char *name = code ? code->name.data : "?", *file = code ? code->file.data : "?";
    uint32_t line = stacks->places[index].line;
    const uint64_t key[] = { ws_salted_key(name, strlen(name)), ws_salted_key(file, strlen(file)), line };
    uint64_t *number = ws_map_put(&scope->known, ws_salted_key(key, sizeof(key)));
    if (!number)
        return -ENOMEM;
    if (!*number) {
        ws_put(scope->frames, scope->frame_count ? ",\n{\"name\":" : "{\"name\":");
        ws_put_json_text(scope->frames, name);
        ws_put(scope->frames, ",\"file\":");
        ws_put_json_text(scope->frames, file);
        ws_put(scope->frames, ",\"line\":");
        ws_put_unsigned(scope->frames, line);
        ws_put(scope->frames, "}");
        *number = ++scope->frame_count;
    }
    return (int64_t)*number - 1;
}

static int put_sample(struct speedscope *scope, const struct ws_stacks *stacks, uint32_t index)
{
    uint32_t chain[WS_CHAIN_MOST];
    size_t depth = ws_frame_chain(stacks, index, chain);
    for (size_t i = 0; i < depth; i++) {
        int64_t number = frame_number(scope, stacks, chain[i]);
        if (number < 0)
            return (int)number;
        ws_put(scope->profiles, i ? "," : "[");
        ws_put_number(scope->profiles, number);
    }
    ws_put(scope->profiles, "]");
    return 0;
}

static int64_t value_at(const struct ws_stack_values *values, size_t frame, size_t offset)
{
    int64_t value;
    memcpy(&value, (const char *)&values->times[frame] + offset, sizeof(value));
    return value;
}

static void put_head(struct speedscope *scope, const struct ws_stack_values *values, const char *name, int64_t total)
{
    const char *program = ws_process_meta(values->process, "program"), *pid = ws_process_meta(values->process, "pid");
    char title[256];
    snprintf(title, sizeof(title), "%s time of %s %s", name, program ? program : "?", pid ? pid : "");
    ws_put(scope->profiles, scope->any_profile ? ",\n{" : "{");
    ws_put(scope->profiles, "\"type\":\"sampled\",\"unit\":\"nanoseconds\",\"startValue\":0,\"endValue\":");
    ws_put_number(scope->profiles, total);
    ws_put(scope->profiles, ",\"name\":");
    ws_put_json_text(scope->profiles, title);
    scope->any_profile = true;
}

/* Writes one profile. `offset`: offset in struct ws_code_time of the member (host, device or idle time) that the
 * profile shows. */
static int put_profile(struct speedscope *scope, const struct ws_stack_values *values, const char *name,
                       size_t offset)
{
    int64_t total = 0;
    int status = 0;
    bool first = true;
    for (size_t i = 0; i < values->count; i++)
        total = ws_sum(total, value_at(values, i, offset));
    put_head(scope, values, name, total);
    ws_put(scope->profiles, ",\n\"samples\":[");
    for (size_t i = 0; i < values->count && !status; i++) {
        if (!value_at(values, i, offset))
            continue;
        ws_put(scope->profiles, first ? "" : ",");
        status = put_sample(scope, &values->process->stacks, (uint32_t)i);
        first = false;
    }
    ws_put(scope->profiles, "],\n\"weights\":[");
    first = true;
    for (size_t i = 0; i < values->count; i++) {
        if (!value_at(values, i, offset))
            continue;
        ws_put(scope->profiles, first ? "" : ",");
        ws_put_number(scope->profiles, value_at(values, i, offset));
        first = false;
    }
    ws_put(scope->profiles, "]}");
    return status;
}

static int put_process(const struct ws_stack_values *values, void *user)
{
    int status = 0;
#define PROFILE(name, unit, member) \
    status = status ? status : put_profile(user, values, name, offsetof(struct ws_code_time, member));
    WS_STACK_VALUES(PROFILE)
#undef PROFILE
    return status;
}

static int copy_all(FILE *from, FILE *to)
{
    char buffer[1 << 14];
    rewind(from);
    for (size_t size; (size = fread(buffer, 1, sizeof(buffer), from));)
        if (fwrite(buffer, 1, size, to) != size)
            return -errno;
    return ferror(from) ? -EIO : 0;
}

/* Copies the two temporary files, frames and profiles, into one JSON document. */
static int put_together(FILE *frames, FILE *profiles, FILE *file)
{
    static const char begin[] = "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
                                "\"exporter\":\"wallshim\",\n\"shared\":{\"frames\":[\n",
                      middle[] = "]},\n\"profiles\":[\n", end[] = "]}\n";
    fputs(begin, file);
    int status = copy_all(frames, file);
    fputs(middle, file);
    status = status ? status : copy_all(profiles, file);
    fputs(end, file);
    return status || !ferror(file) ? status : -EIO;
}

static int speedscope_write(const struct ws_model *model, FILE *file, const struct ws_model_options *options,
                            char *message, size_t capacity)
{
    struct speedscope scope = { .frames = malloc(sizeof(*scope.frames)),
                                .profiles = malloc(sizeof(*scope.profiles)) };
    FILE *parts[2] = { tmpfile(), tmpfile() };
    int status = scope.frames && scope.profiles ? 0 : -ENOMEM;
    (void)options;
    snprintf(message, capacity, "out of memory");
    if (!status && (!parts[0] || !parts[1])) {
        status = -errno;
        snprintf(message, capacity, "no temporary file: %s", strerror(errno));
    }
    if (!status) {
        ws_text_out_init(scope.frames, parts[0]);
        ws_text_out_init(scope.profiles, parts[1]);
        status = ws_for_stack_values(model, put_process, &scope, message, capacity);
    }
    if (!status) {
        status = ws_text_out_finish(scope.frames);
        status = status ? status : ws_text_out_finish(scope.profiles);
        status = status ? status : put_together(parts[0], parts[1], file);
        snprintf(message, capacity, "cannot write everything: %s", strerror(-status));
    }
    for (int i = 0; i < 2; i++)
        if (parts[i])
            fclose(parts[i]);
    ws_map_finish(&scope.known);
    free(scope.frames);
    free(scope.profiles);
    return status;
}

const struct ws_export_format ws_export_speedscope = {
    .name = "speedscope",
    .summary = "Python stacks for speedscope, with the host, device and idle time that they stand for",
    .suffix = ".speedscope.json",
    .analysed = true,
    .write = speedscope_write,
};
