/* Programs whose standard error cannot take messages of the shim: it is closed, full, stopped or limited, or the
 * program has replaced it by another file. In most modes the program starts itself again with such a standard
 * error. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <termios.h>

#include "program.h"

enum { HUNG_S = 20 };

static struct gpu gpu;

static void must(bool well)
{
    if (!well)
        _exit(91);
}

static void work(void)
{
    sigset_t pending;
    alarm(HUNG_S);
    gpu_open(&gpu, 0);
    dprintf(STDOUT_FILENO, "refused: %d\n", spin_times(&gpu, 100, 2000));
    TRY(cuStreamSynchronize(gpu.stream));
    must(!sigpending(&pending));
    dprintf(STDOUT_FILENO, "pending: %d %d %d\n", sigismember(&pending, SIGPIPE), sigismember(&pending, SIGXFSZ),
            sigismember(&pending, SIGTTOU));
}

/* Executes this program again with `file` as its standard error. Does not return. */
static void again(int file, const char *mode)
{
    must(dup2(file, STDERR_FILENO) == STDERR_FILENO);
    if (file != STDERR_FILENO)
        close(file);
    execl("/proc/self/exe", "again", mode, "again", (char *)NULL);
    _exit(91);
}

/* Reads all bytes from the pipe or socket that is the standard error, and prints how many there were. All must be the
 * zeros of fill(). other: the reading end of the pipe or socket. */
static void show_filling(int other)
{
    static char bytes[4096];
    size_t total = 0;
    ssize_t got;
    dprintf(STDOUT_FILENO, "does not block: %d\n", (fcntl(STDERR_FILENO, F_GETFL) & O_NONBLOCK) != 0);
    must(!fcntl(other, F_SETFL, O_NONBLOCK));
    while ((got = read(other, bytes, sizeof(bytes))) > 0) {
        for (ssize_t i = 0; i < got; i++)
            must(!bytes[i]);
        total += (size_t)got;
    }
    dprintf(STDOUT_FILENO, "of zeros: %zu\n", total);
}

static void fill(int file)
{
    static const char zeros[256];
    int flags = fcntl(file, F_GETFL);
    must(!fcntl(file, F_SETFL, flags | O_NONBLOCK));
    while (write(file, zeros, sizeof(zeros)) > 0 || write(file, zeros, 1) > 0)
        ;
    must(!fcntl(file, F_SETFL, flags));
}

/* Fills up ends[1], the writing end of a pipe or socket, and makes it the standard error. ends[0] stays open as
 * descriptor 9, and main reads from it later. */
static void begin_full(int ends[2], const char *mode)
{
    fill(ends[1]);
    must(dup2(ends[0], 9) == 9);
    close(ends[0]);
    again(ends[1], mode);
}

static int terminal(int *master)
{
    *master = posix_openpt(O_RDWR | O_NOCTTY);
    must(*master >= 0 && !grantpt(*master) && !unlockpt(*master));
    int slave = open(ptsname(*master), O_RDWR | O_NOCTTY);
    must(slave >= 0);
    return slave;
}

/* Runs the program as a background job of a terminal that stops background jobs when they write (TOSTOP). */
static void begin_background(const char *mode)
{
    int master, slave = terminal(&master), status;
    struct termios settings;
    must(!tcgetattr(slave, &settings));
    settings.c_lflag |= TOSTOP;
    must(!tcsetattr(slave, TCSANOW, &settings));
    pid_t leader = fork();
    if (!leader) {
        must(setsid() > 0 && !ioctl(slave, TIOCSCTTY, 0));
        pid_t job = fork();
        if (!job) {
            setpgid(0, 0);
            again(slave, mode);
        }
        must(waitpid(job, &status, WUNTRACED) == job);
        dprintf(STDOUT_FILENO, "stopped: %d, status %d\n", WIFSTOPPED(status),
                WIFEXITED(status) ? WEXITSTATUS(status) : -1);
        kill(job, SIGKILL);
        _exit(0);
    }
    waitpid(leader, NULL, 0);
    _exit(0);
}

static void begin(const char *mode)
{
    int ends[2], master;
    if (!strcmp(mode, "no-reader")) {
        must(!pipe(ends));
        close(ends[0]);
        again(ends[1], mode);
    } else if (!strcmp(mode, "full-pipe")) {
        must(!pipe(ends));
        begin_full(ends, mode);
    } else if (!strcmp(mode, "full-socket")) {
        must(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
        begin_full(ends, mode);
    } else if (!strcmp(mode, "socket-without-peer")) {
        must(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
        close(ends[0]);
        again(ends[1], mode);
    } else if (!strcmp(mode, "limited")) {
        int file = open("own.txt", O_WRONLY | O_CREAT | O_APPEND, 0644);
        must(file >= 0 && !ftruncate(file, 4096));
        struct rlimit limit = { 4096, 4096 };
        must(!setrlimit(RLIMIT_FSIZE, &limit));
        again(file, mode);
    } else if (!strcmp(mode, "stopped-terminal")) {
        int slave = terminal(&master);
        must(!tcflow(slave, TCOOFF));
        again(slave, mode);
    } else if (!strcmp(mode, "background")) {
        begin_background(mode);
    } else if (!strcmp(mode, "reused")) {
        close(STDERR_FILENO);
        must(open("own.txt", O_WRONLY | O_CREAT, 0644) == STDERR_FILENO);
    } else if (!strcmp(mode, "closed")) {
        close(STDERR_FILENO);
    } else {
        _exit(unknown_mode(mode));
    }
}

int main(int argc, char **argv)
{
    const char *mode = mode_of(argc, argv);
    if (argc < 3)
        begin(mode);
    work();
    if (!strncmp(mode, "full", 4))
        show_filling(9);
    return 0;
}
