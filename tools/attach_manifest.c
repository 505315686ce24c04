#include "attach_manifest.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "manifest.h"
#include "wire/process_stat.h"

enum { MANIFEST_VERSION = 1 };

/* Writes a text that identifies this process (`wallshim attach --all`). The text also identifies the recording,
 * because a process makes only one. */
static void name_together(char *word, size_t capacity)
{
    char boot[WS_BOOT_ID_SIZE];
    ws_boot_id(boot);
    snprintf(word, capacity, "%s %d %" PRIu64, boot, getpid(), ws_process_start_time("/proc/self/stat"));
}

static json_t *attach_text(const char *text)
{
    json_t *value = json_string(text);
    return value ? value : json_string("?"); /* the text was not UTF-8 */
}

static json_t *describe_writer(void)
{
    char boot[WS_BOOT_ID_SIZE];
    ws_boot_id(boot);
    return json_pack("{s:i, s:I, s:o}", "pid", getpid(), "start_time",
                     (json_int_t)ws_process_start_time("/proc/self/stat"), "boot_id", attach_text(boot));
}

static json_t *describe_member(const struct tool_member *member)
{
    const char *ended = member->state == TOOL_WORKER_ENDED  ? "goodbye"
                        : member->state == TOOL_WORKER_GONE ? "gone without goodbye"
                                                            : "still recording";
    char boot[WS_BOOT_ID_SIZE], word[128];
    struct utsname host;
    ws_boot_id(boot);
    name_together(word, sizeof(word));
    return json_pack("{s:o, s:i, s:I, s:o, s:I, s:o, s:s, s:I, s:o}", "file",
                     attach_text(strrchr(member->file.path, '/') + 1), "pid", member->process.pid, "uid",
                     (json_int_t)member->process.uid, "host", attach_text(uname(&host) ? "" : host.nodename),
                     "start_time", (json_int_t)member->start_time, "boot_id", attach_text(boot), "ended", ended,
                     "bytes", (json_int_t)tool_trace_file_size(&member->file), "together", attach_text(word));
}

static void manifest_of_folder(const char *folder, char path[TOOL_JOB_PATH + 32])
{
    snprintf(path, TOOL_JOB_PATH + 32, "%s/manifest.json", folder);
}

bool tool_attach_manifest_is_foreign(const char *folder)
{
    char path[TOOL_JOB_PATH + 32], boot[WS_BOOT_ID_SIZE];
    manifest_of_folder(folder, path);
    json_t *root = json_load_file(path, 0, NULL);
    const json_t *writer = json_object_get(root, "collector");
    const char *its_boot = json_string_value(json_object_get(writer, "boot_id"));
    int pid = (int)json_integer_value(json_object_get(writer, "pid"));
    ws_boot_id(boot);
    bool foreign = its_boot && !strcmp(its_boot, boot) && pid != getpid() &&
                   ws_process_is_alive(pid, (uint64_t)json_integer_value(json_object_get(writer, "start_time")));
    json_decref(root);
    return foreign;
}

/* Adds the rows that earlier recordings left in the manifest `root`. */
static void keep_earlier(json_t *rows, const json_t *root)
{
    const json_t *old = json_object_get(root, "clients");
    char word[128];
    name_together(word, sizeof(word));
    for (size_t i = 0; i < json_array_size(old); i++) {
        json_t *row = json_array_get(old, i);
        const char *its_word = json_string_value(json_object_get(row, "together"));
        if (!its_word || strcmp(its_word, word) != 0)
            json_array_append(rows, row);
    }
}

static json_t *describe_crew(const struct tool_crew *crew, const json_t *before)
{
    json_t *rows = json_array();
    keep_earlier(rows, before);
    for (size_t i = 0; i < crew->members.count; i++) {
        const struct tool_member *member = tool_crew_member(crew, i);
        if (!member->refused && member->state >= TOOL_WORKER_RECORDS && member->state != TOOL_WORKER_FAILED)
            json_array_append_new(rows, describe_member(member));
    }
    return json_pack("{s:i, s:s, s:o, s:o, s:o}", "version", MANIFEST_VERSION, "creator",
                     "wallshim attach --all " WS_VERSION, "job", attach_text(strrchr(crew->folder, '/') + 1),
                     "collector", describe_writer(), "clients", rows);
}

int tool_attach_manifest_write(const struct tool_crew *crew)
{
    char path[TOOL_JOB_PATH + 32], newer[TOOL_JOB_PATH + 32];
    manifest_of_folder(crew->folder, path);
    snprintf(newer, sizeof(newer), "%s/.manifest.json.new", crew->folder);
    json_t *before = json_load_file(path, 0, NULL), *root = describe_crew(crew, before);
    errno = ENOMEM;
    int error = !root || json_dump_file(root, newer, JSON_INDENT(2)) || rename(newer, path) ? -errno : 0;
    if (error)
        unlink(newer);
    json_decref(root);
    json_decref(before);
    return error;
}

void tool_attach_manifest_remove(const char *folder)
{
    char path[TOOL_JOB_PATH + 32];
    manifest_of_folder(folder, path);
    unlink(path);
}
