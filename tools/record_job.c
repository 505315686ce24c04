#include "record_job.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "command.h"
#include "wire/options.h"

enum {
    LOOK_MS = 5,
    START_MS = 10000, /* for the collector to listen */
    END_MS = 3000,    /* for the collector to end: a process of the command may outlive the command */
    SOCKET_SIZE = 100,
};

/* Folders in which the collector may be, relative to the folder of this program: of an installation, of a build tree.
 */
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

/* Makes the folder and those above it, and writes its absolute path to job->folder. */
static int make_folder(struct tool_job *job, const char *folder)
{
    char path[sizeof(job->folder)], real[4096];
    if (!*folder || snprintf(path, sizeof(path), "%s", folder) >= (int)sizeof(path))
        return tool_error("--job %s: give the folder of the job", folder);
    for (size_t size = strlen(path); size > 1 && path[size - 1] == '/'; size--)
        path[size - 1] = 0;
    for (char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
        *at = 0;
        mkdir(path, 0777);
        *at = '/';
    }
    /* The job's own folder is for the user alone: traces hold command lines. */
    struct stat status;
    int made = mkdir(path, 0700);
    if (made && errno == EEXIST && !stat(path, &status) && !S_ISDIR(status.st_mode))
        errno = ENOTDIR;
    if ((made && errno != EEXIST) || !realpath(path, real))
        return tool_error("--job %s: %s", folder, strerror(errno));
    snprintf(job->folder, sizeof(job->folder), "%s", real);
    const char *name = strrchr(real, '/') + 1;
    bool plain = *name && *name != '.' && strlen(name) < 100;
    for (; *name; name++)
        plain = plain && *name > ' ' && *name < 0x7f;
    return plain ? 0
                 : tool_error("--job %s: give a folder whose name is short, plain and without a dot first", folder);
}

/* Chooses a path for the socket, in a folder that does not exist yet. Returns false if no folder is writable. */
static bool choose_socket(char path[SOCKET_SIZE])
{
    const char *folders[] = { getenv("XDG_RUNTIME_DIR"), getenv("TMPDIR"), "/tmp" };
    uint64_t word = (uint64_t)getpid();
    ssize_t ignored = getrandom(&word, sizeof(word), GRND_NONBLOCK);
    (void)ignored;
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        if (!folders[i] || *folders[i] != '/' || access(folders[i], W_OK | X_OK))
            continue;
        if (snprintf(path, SOCKET_SIZE, "%s/wallshim-%016" PRIx64 "/socket", folders[i], word) < SOCKET_SIZE)
            return true;
    }
    return false;
}

/* Where the user closed stdin or stdout, the descriptor may have its place already. It must stay open at exec. */
static void move_to(int descriptor, int place)
{
    if (descriptor == place)
        fcntl(place, F_SETFD, 0);
    else
        dup2(descriptor, place);
}

/* Runs in the child and never returns. A session of its own keeps the terminal's signals from the collector. */
static void exec_collector(const char *program, const char *socket, const struct tool_job *job, int input)
{
    char listen[SOCKET_SIZE + 8], folder[sizeof(job->folder)];
    char *slash;
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    snprintf(listen, sizeof(listen), "unix:%s", socket);
    snprintf(folder, sizeof(folder), "%s", job->folder);
    slash = strrchr(folder, '/');
    *slash = 0;
    setsid();
    move_to(input, STDIN_FILENO);
    move_to(nowhere, STDOUT_FILENO);
    execl(program, program, "--listen", listen, "--dir", *folder ? folder : "/", "--job", slash + 1, "--while-input",
          (char *)NULL);
    _exit(127);
}

static void pause_ms(int ms)
{
    const struct timespec pause = { 0, ms * 1000000L };
    nanosleep(&pause, NULL);
}

/* The path of the socket exists once the collector listens. */
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

/* Traces that do not reach the collector go to the same folder, under the name that was asked for. */
static int pass_names(const struct tool_job *job, const char *socket)
{
    const char *name = getenv("WALLSHIM_OUTPUT"), *slash = name ? strrchr(name, '/') : NULL;
    char *output;
    name = slash ? slash + 1 : name;
    if (asprintf(&output, "%s/%s", job->folder, name && *name ? name : "%n-%p.wst") < 0)
        return tool_error("out of memory");
    int error = setenv("WALLSHIM_OUTPUT", output, 1) || setenv("WALLSHIM_COLLECTOR", socket, 1);
    free(output);
    return error ? tool_error("out of memory") : 0;
}

int tool_job_start(struct tool_job *job, const char *folder)
{
    char program[4096], socket[SOCKET_SIZE];
    int ends[2], status = make_folder(job, folder);
    *job = status ? (struct tool_job){ 0 } : *job;
    if (status)
        return status;
    if (strchr(job->folder, '%'))
        return tool_error("--job %s: give a folder without a percent sign", folder);
    if (!find_collector(program, sizeof(program)))
        return tool_error("--job: wallshim-collector was not found beside this program; build wallshim with libuv");
    if (!choose_socket(socket))
        return tool_error("--job: no folder for the collector's socket; set TMPDIR to a writable folder");
    if (pipe2(ends, O_CLOEXEC))
        return tool_error("--job: %s", strerror(errno));
    job->collector = fork();
    if (!job->collector)
        exec_collector(program, socket, job, ends[0]);
    close(ends[0]);
    job->input = ends[1];
    if (job->collector > 0 && listens(job, socket))
        return pass_names(job, socket);
    return tool_error("--job %s: the collector does not start", folder);
}

void tool_job_end(struct tool_job *job)
{
    if (job->collector <= 0)
        return;
    close(job->input);
    for (int waited = 0; waited < END_MS; waited += LOOK_MS) {
        if (waitpid(job->collector, NULL, WNOHANG) == job->collector)
            return;
        pause_ms(LOOK_MS);
    }
    tool_say("a process that the command left behind still records; its collector ends with it");
}
