#include "record_job.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "command.h"
#include "wire/options.h"

enum {
    LOOK_MS = 5,
    START_MS = 10000, /* longest wait for the collector to listen */
    /* Longest wait for the collector to end. The collector ends only after all programs that it records, and one of
     * them may outlive the command. */
    END_MS = 3000,
    SOCKET_SIZE = sizeof(((struct tool_job *)0)->socket),
    NAME_MOST = 100,
    YOUNG_S = 60,
};
#define PREFIX "wallshim-"

/* Folders in which the collector may be, relative to the folder of this program: in an installation, and in a
 * build tree. */
static const char *const places[] = { ".", "../collector" };

static bool find_collector(char *path, size_t capacity)
{
    char program[3072];
    ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
    program[length > 0 ? length : 0] = 0;
    char *slash = strrchr(program, '/');
    if (slash)
        *slash = 0;
    for (size_t i = 0; slash && i < sizeof(places) / sizeof(places[0]); i++) {
        snprintf(path, capacity, "%s/%s/wallshim-collector", program, places[i]);
        if (!access(path, X_OK))
            return true;
    }
    return false;
}

/* Checks, before anything is created, that the collector will accept a folder of this name. Returns 0, or TOOL_ERROR
 * after a line on stderr. */
static int check_name(const char *folder, const char *name)
{
    bool plain = *name && *name != '.' && strlen(name) < NAME_MOST;
    for (; *name; name++)
        plain = plain && *name != 0x7f && (unsigned char)*name >= ' ';
    return plain
               ? 0
               : tool_error("--job %s: give a folder whose name is short, without control characters or a dot first",
                            folder);
}

int tool_job_folder(const char *folder, char real[TOOL_JOB_PATH])
{
    char path[TOOL_JOB_PATH];
    if (!*folder || !strcmp(folder, "--") || snprintf(path, sizeof(path), "%s", folder) >= (int)sizeof(path))
        return tool_error("--job %s: give the folder of the job, as in: --job runs/first", folder);
    for (size_t size = strlen(path); size > 1 && path[size - 1] == '/'; size--)
        path[size - 1] = 0;
    bool there = realpath(path, real) != NULL; /* if the folder is "." or a link, check the name of the real folder */
    const char *last = strrchr(there ? real : path, '/');
    int status = check_name(folder, last ? last + 1 : path);
    if (status)
        return status;
    for (char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
        *at = 0;
        mkdir(path, 0777);
        *at = '/';
    }
    /* Only the user may look into the job's own folder, because traces hold command lines. */
    struct stat about;
    int made = mkdir(path, 0700);
    if (made && errno == EEXIST && !stat(path, &about) && !S_ISDIR(about.st_mode))
        errno = ENOTDIR;
    if ((made && errno != EEXIST) || !realpath(path, real))
        return tool_error("--job %s: %s", folder, strerror(errno));
    return 0;
}

/* Does a collector listen on this socket? */
static bool is_alive(const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    bool alive = fd < 0 || !connect(fd, (struct sockaddr *)&address, sizeof(address)) ||
                 (errno != ECONNREFUSED && errno != ENOENT);
    if (fd >= 0)
        close(fd);
    return alive;
}

/* Removes the socket of a collector that was killed, and the socket's folder. */
static void remove_socket(const char *path)
{
    char folder[SOCKET_SIZE];
    if (is_alive(path))
        return;
    snprintf(folder, sizeof(folder), "%s", path);
    *strrchr(folder, '/') = 0;
    unlink(path);
    rmdir(folder);
}

/* Removes the sockets of collectors that were killed together with the `wallshim record` that had started them.
 * Leaves folders of sockets that are younger than YOUNG_S alone, because their collector may be about to listen. */
static void remove_leftovers(const char *folder)
{
    DIR *entries = opendir(folder);
    for (struct dirent *entry; entries && (entry = readdir(entries));) {
        char path[SOCKET_SIZE];
        struct stat about;
        if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) || strlen(entry->d_name) != strlen(PREFIX) + 16 ||
            fstatat(dirfd(entries), entry->d_name, &about, AT_SYMLINK_NOFOLLOW) || !S_ISDIR(about.st_mode) ||
            about.st_uid != geteuid() || about.st_mtime > time(NULL) - YOUNG_S)
            continue;
        if (snprintf(path, sizeof(path), "%s/%s/socket", folder, entry->d_name) < (int)sizeof(path))
            remove_socket(path);
    }
    if (entries)
        closedir(entries);
}

/* Chooses a path for the collector's socket, in a folder that does not exist yet: the collector makes it. Returns
 * false if no folder above it is writable. */
static bool choose_socket(char path[SOCKET_SIZE])
{
    const char *folders[] = { getenv("XDG_RUNTIME_DIR"), getenv("TMPDIR"), "/tmp" };
    uint64_t word = (uint64_t)getpid();
    ssize_t ignored = getrandom(&word, sizeof(word), GRND_NONBLOCK);
    (void)ignored;
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        if (!folders[i] || *folders[i] != '/' || access(folders[i], W_OK | X_OK))
            continue;
        remove_leftovers(folders[i]);
        if (snprintf(path, SOCKET_SIZE, "%s/" PREFIX "%016" PRIx64 "/socket", folders[i], word) < SOCKET_SIZE)
            return true;
    }
    return false;
}

/* Makes the descriptor the standard stream with the number `place`. If the user had closed that stream, the
 * descriptor may have this number already. Then the descriptor only has to stay open at exec. */
static void move_to(int descriptor, int place)
{
    if (descriptor == place)
        fcntl(place, F_SETFD, 0);
    else
        dup2(descriptor, place);
}

/* Runs the collector in the child process. Never returns. Puts the collector into a session of its own, so that it
 * does not get the signals of the terminal, such as Ctrl-C. */
static void exec_collector(const char *program, const struct tool_job *job, int input, const char *flight,
                           const char *slow_step)
{
    char listen[SOCKET_SIZE + 8], folder[sizeof(job->folder)];
    char *slash;
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    snprintf(listen, sizeof(listen), "unix:%s", job->socket);
    snprintf(folder, sizeof(folder), "%s", job->folder);
    slash = strrchr(folder, '/');
    *slash = 0;
    setsid();
    move_to(input, STDIN_FILENO);
    move_to(nowhere, STDOUT_FILENO);
    const char *more[] = { flight ? "--flight" : NULL, flight, flight && slow_step ? "--slow-step" : NULL,
                           slow_step };
    execl(program, program, "--listen", listen, "--dir", *folder ? folder : "/", "--job", slash + 1, "--while-input",
          more[0], more[1], more[2], more[3], (char *)NULL);
    _exit(127);
}

static void pause_ms(int ms)
{
    const struct timespec pause = { 0, ms * 1000000L };
    nanosleep(&pause, NULL);
}

/* Waits until the collector listens: from then on, the socket's path exists. Returns false if the collector does not
 * start. */
static bool listens(struct tool_job *job, const char *socket)
{
    for (int waited = 0; waited < START_MS; waited += LOOK_MS) {
        if (!access(socket, F_OK))
            return true;
        if (waitpid(job->collector, NULL, WNOHANG) == job->collector) {
            job->collector = 0;
            return false;
        }
        pause_ms(LOOK_MS);
    }
    return false;
}

/* Writes the text with each percent sign doubled, because the shim replaces '%' sequences in names of traces. */
static void put_escaped(char *out, const char *text)
{
    for (; *text; text++) {
        *out++ = *text;
        if (*text == '%')
            *out++ = '%';
    }
    *out = 0;
}

/* Passes the path of the collector's socket to the command (WALLSHIM_COLLECTOR). Also sets WALLSHIM_OUTPUT: a process
 * that does not reach the collector writes its trace into the job's folder itself, under the name that the user has
 * chosen. */
static int pass_names(const struct tool_job *job)
{
    const char *name = getenv("WALLSHIM_OUTPUT"), *slash = name ? strrchr(name, '/') : NULL;
    char *output, folder[2 * sizeof(job->folder)];
    name = slash ? slash + 1 : name;
    put_escaped(folder, job->folder);
    if (asprintf(&output, "%s/%s", folder, name && *name ? name : "%n-%p.wst") < 0)
        return tool_error("out of memory");
    int error = setenv("WALLSHIM_OUTPUT", output, 1) || setenv("WALLSHIM_COLLECTOR", job->socket, 1);
    free(output);
    return error ? tool_error("out of memory") : 0;
}

/* Checks the values of --flight and --slow-step before the collector gets them, because the collector's own messages
 * would send the user to `wallshim-collector --help`. */
static int check_flight(const char *flight, const char *slow_step)
{
    uint64_t ns;
    char *end = NULL;
    if (flight && (ws_parse_duration(flight, &ns) || !ns))
        return tool_error("--flight %s: give a time, as 30s or 2m", flight);
    if (slow_step && !flight)
        return tool_error("--slow-step: this dumps what --flight keeps; give --flight TIME as well");
    if (slow_step && (!(strtod(slow_step, &end) > 1) || *end))
        return tool_error("--slow-step %s: give a number above 1, as 3 or 2.5", slow_step);
    return 0;
}

int tool_job_start(struct tool_job *job, const char *folder, const char *flight, const char *slow_step)
{
    char program[4096];
    int ends[2], status = check_flight(flight, slow_step);
    if (!status)
        status = tool_job_folder(folder, job->folder);
    *job = status ? (struct tool_job){ 0 } : *job;
    if (status)
        return status;
    if (!find_collector(program, sizeof(program)))
        return tool_error("--job: wallshim-collector was not found beside this program; build wallshim with libuv");
    if (!choose_socket(job->socket))
        return tool_error("--job: no folder for the collector's socket; set TMPDIR to a writable folder");
    if (pipe2(ends, O_CLOEXEC))
        return tool_error("--job: %s", strerror(errno));
    job->collector = fork();
    if (!job->collector)
        exec_collector(program, job, ends[0], flight, slow_step);
    close(ends[0]);
    job->input = ends[1];
    if (job->collector <= 0 || !listens(job, job->socket))
        return tool_error("--job %s: the collector does not start", folder);
    if (flight)
        tool_say("keeping the last %s; to have them written: wallshim ctl unix:%s dump", flight, job->socket);
    return pass_names(job);
}

/* Has the collector ended? If so, removes its socket, if the socket still exists, and prints a line if a signal ended
 * the collector. */
static bool job_has_ended(struct tool_job *job)
{
    int status;
    if (waitpid(job->collector, &status, WNOHANG) != job->collector)
        return false;
    if (WIFSIGNALED(status))
        tool_say(
            "the collector was ended by signal %d; what it had not taken by then is missing or in files of its own",
            WTERMSIG(status));
    remove_socket(job->socket);
    return true;
}

void tool_job_end(struct tool_job *job)
{
    if (job->collector <= 0)
        return;
    close(job->input);
    for (int waited = 0; waited < END_MS; waited += LOOK_MS) {
        if (job_has_ended(job))
            return;
        pause_ms(LOOK_MS);
    }
    tool_say("a process that the command left behind still records; its collector ends with it");
}
