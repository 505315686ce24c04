#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "command.h"
#include "wire/channel.h"
#include "wire/options.h"

enum { PATIENCE_S = 10 };

static const struct tool_switch *ctl_switches(size_t *count)
{
    static const struct tool_switch list[] = {
        { "pid", 0, "PID", "only the process of this id" },
        { "job", 0, "NAME", "for dump: only this job" },
        { "json", 0, NULL, "print the collector's answer as it is: a line of JSON for each process" },
    };
    *count = sizeof(list) / sizeof(list[0]);
    return list;
}

static int ctl_connect(const char *where)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    const struct timeval patience = { .tv_sec = PATIENCE_S };
    const char *path = ws_channel_path(where);
    if (strlen(path) >= sizeof(address.sun_path)) {
        tool_error("%s: this path is too long for a socket", path);
        return -1;
    }
    memcpy(address.sun_path, path, strlen(path));
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address))) {
        tool_error("%s: no collector can be asked there: %s", path, strerror(errno));
        if (fd >= 0)
            close(fd);
        return -1;
    }
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    return fd;
}

static void print_process(const json_t *row)
{
    printf("%8lld  %-9s  rank %-8s %10lld bytes  %s\n", (long long)json_integer_value(json_object_get(row, "pid")),
           json_string_value(json_object_get(row, "state")), json_string_value(json_object_get(row, "rank")),
           (long long)json_integer_value(json_object_get(row, "bytes")),
           json_string_value(json_object_get(row, "file")));
}

/* Prints which dump was written, or why no dump was written. */
static void print_dump(const json_t *row)
{
    const char *error = json_string_value(json_object_get(row, "error"));
    const char *folder = json_string_value(json_object_get(row, "dump"));
    const char *job = json_string_value(json_object_get(row, "job"));
    long long traces = json_integer_value(json_object_get(row, "traces"));
    if (*error)
        tool_error("%s%s%s", folder ? folder : job ? job : "no dump", ": ", error);
    else if (folder)
        tool_say("wrote %lld trace%s; next: wallshim report %s", traces, traces == 1 ? "" : "s", folder);
}

/* Prints the lines of one answer. If a line says how many processes (or for dump, how many jobs) were reached, sets
 * *reached to that number. */
static void print_lines(char *lines, bool as_json, json_int_t *reached)
{
    char *rest = NULL;
    for (char *line = strtok_r(lines, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        json_t *row = json_loads(line, 0, NULL);
        const json_t *number = json_object_get(row, "reached");
        if (number)
            *reached = json_integer_value(number);
        else if (as_json)
            puts(line);
        else if (json_string_value(json_object_get(row, "error")))
            print_dump(row);
        else if (json_string_value(json_object_get(row, "file")) &&
                 json_string_value(json_object_get(row, "state")) && json_string_value(json_object_get(row, "rank")))
            print_process(row);
        json_decref(row);
    }
}

/* Reads answers until the last answer has come. Returns how many processes (or for dump, how many jobs) were reached,
 * or -1 after a line on stderr. */
static json_int_t read_answers(int fd, const char *where, bool as_json)
{
    static uint8_t bytes[WS_CHANNEL_MESSAGE_MAX + 1];
    struct ws_channel_message answer = { .number = 1 };
    json_int_t reached = -1;
    while (answer.number) {
        ssize_t size = recv(fd, bytes, sizeof(bytes) - 1, 0);
        bool right = size > 0 && !ws_channel_read(bytes, (size_t)size, &answer);
        if (right && answer.kind == WS_CHANNEL_REFUSED) {
            tool_error("%s: the collector refuses this: %s", where, ws_channel_reason_text(answer.number));
            return -1;
        }
        if (!right || answer.kind != WS_CHANNEL_ANSWER) {
            tool_error("%s: no answer of a collector", where);
            return -1;
        }
        bytes[size] = 0;
        print_lines((char *)bytes + WS_CHANNEL_START_SIZE, as_json, &reached);
    }
    return reached;
}

struct ctl_request {
    enum ws_channel_command command;
    size_t pid;
    const char *text;
};

/* Reads the operands after the path of the socket: the command and its argument. */
static int take_words(const struct tool_arguments *arguments, struct ctl_request *request)
{
    static const char *const words[] = { [WS_CHANNEL_STATUS] = "status",
                                         [WS_CHANNEL_START] = "start",
                                         [WS_CHANNEL_STOP] = "stop",
                                         [WS_CHANNEL_BURST] = "burst",
                                         [WS_CHANNEL_DUMP] = "dump" };
    uint64_t on, period;
    const char *pid = tool_value(arguments, "pid"), *job = tool_value(arguments, "job");
    if (arguments->operand_count < 2)
        return tool_error("ctl: give the collector's socket and status, start, stop, burst ON/PERIOD or dump");
    const char *word = arguments->operands[1];
    for (request->command = 0; request->command < WS_CHANNEL_COMMANDS; request->command++)
        if (!strcmp(words[request->command], word))
            break;
    bool burst = request->command == WS_CHANNEL_BURST;
    if (request->command == WS_CHANNEL_COMMANDS)
        return tool_error("ctl %s: give status, start, stop, burst ON/PERIOD or dump", word);
    if (arguments->operand_count != (burst ? 3 : 2))
        return tool_error(burst ? "ctl burst: give ON/PERIOD, as 1s/30s, or off" : "ctl %s: takes nothing more",
                          word);
    if (burst && strcmp(arguments->operands[2], "off") != 0)
        request->text = arguments->operands[2];
    bool dump = request->command == WS_CHANNEL_DUMP;
    if (dump ? pid != NULL : job != NULL)
        return tool_error("ctl %s: takes no --%s", word, dump ? "pid" : "job");
    if (job && (!*job || strlen(job) > WS_CHANNEL_TEXT_MAX))
        return tool_error("ctl dump --job %s: give the name of a job, of at most %d bytes", job, WS_CHANNEL_TEXT_MAX);
    if (dump) {
        request->text = job ? job : "";
        return 0;
    }
    if (strlen(request->text) > WS_CHANNEL_TEXT_MAX || ws_parse_burst(request->text, &on, &period))
        return tool_error("ctl burst %s: give ON/PERIOD, as 1s/30s, ON no longer than PERIOD, or off", request->text);
    return pid ? tool_number("pid", pid, INT32_MAX, &request->pid) : 0;
}

static int ctl_run(const struct tool_arguments *arguments)
{
    struct ctl_request request = { .text = "" };
    uint8_t bytes[WS_CHANNEL_START_SIZE + WS_CHANNEL_TEXT_MAX];
    int status = take_words(arguments, &request);
    if (status)
        return status;
    const char *where = arguments->operands[0];
    int fd = ctl_connect(where);
    if (fd < 0)
        return TOOL_ERROR;
    size_t size = strlen(request.text);
    ws_channel_write(bytes, WS_CHANNEL_ASK, request.command | (uint64_t)request.pid << 32, size);
    memcpy(bytes + WS_CHANNEL_START_SIZE, request.text, size);
    bool sent = send(fd, bytes, WS_CHANNEL_START_SIZE + size, MSG_NOSIGNAL) > 0;
    json_int_t reached = sent ? read_answers(fd, where, tool_value(arguments, "json")) : -1;
    close(fd);
    if (!sent)
        return tool_error("%s: the collector does not listen: %s", where, strerror(errno));
    if (reached < 0)
        return TOOL_ERROR;
    if (!reached && request.command == WS_CHANNEL_DUMP)
        return tool_error("%s: there was nothing to dump", where);
    if (!reached)
        return tool_error("%s: no such process is connected", where);
    if (request.command != WS_CHANNEL_STATUS && request.command != WS_CHANNEL_DUMP)
        tool_say("passed on to %lld process%s; they follow within a second", (long long)reached,
                 reached == 1 ? "" : "es");
    return TOOL_DONE;
}

const struct tool_command tool_ctl = {
    .name = "ctl",
    .operands = "SOCKET status|start|stop|burst|dump [ON/PERIOD]",
    .summary = "ask a collector who records, start or stop recording in programs that run, or have a dump written",
    .text = "SOCKET is that of wallshim-collector. status lists the processes that are connected, and whether they "
            "record. "
            "start, stop and burst reach programs that are connected now, not those that start later; --delay, "
            "--duration "
            "and --max-size still hold. burst off records all the time again. A program that was recorded with "
            "--start off "
            "records nothing before start. dump writes what a collector with --flight keeps in memory.",
    .switches = ctl_switches,
    .run = ctl_run,
};
