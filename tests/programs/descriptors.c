/* Programs that list all their file descriptors, close them, or replace them by other files. In some modes,
 * close_range fails as on an old Linux, or a sandbox forbids close_range and unshare. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "program.h"

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

static struct gpu gpu;

/* Sets a seccomp filter that answers the system calls with the numbers `first` and `second` by `action`. */
static void refuse(int first, int second, unsigned action)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)first, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)second, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, action),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { .len = sizeof(code) / sizeof(code[0]), .filter = code };
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        _exit(92);
}

static int by_number(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static void list(const char *when)
{
    int numbers[2048], count = 0;
    DIR *folder = opendir("/proc/self/fd");
    if (!folder)
        _exit(91);
    for (struct dirent *entry; (entry = readdir(folder)) && count < 2048;)
        if (*entry->d_name != '.' && atoi(entry->d_name) != dirfd(folder))
            numbers[count++] = atoi(entry->d_name);
    closedir(folder);
    qsort(numbers, (size_t)count, sizeof(numbers[0]), by_number);
    dprintf(STDOUT_FILENO, "%s:", when);
    for (int i = 0; i < count; i++)
        dprintf(STDOUT_FILENO, " %d", numbers[i]);
    int next = open("/dev/null", O_RDONLY);
    dprintf(STDOUT_FILENO, ", next %d\n", next);
    close(next);
}

static void work(int times)
{
    dprintf(STDOUT_FILENO, "refused: %d\n", spin_times(&gpu, times, 2000));
    TRY(cuStreamSynchronize(gpu.stream));
}

static void listed(void)
{
    list("before");
    gpu_open(&gpu, 0);
    list("open");
    work(2000);
    usleep(400000);
    list("worked");
    pid_t child = fork();
    if (!child) {
        list("in a child");
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

/* A pipe, a socket and a file's lock end when their last descriptor is closed. So if they do not end as soon as the
 * program closes its descriptors, the shim has kept a copy of a descriptor. */
static void ends(void)
{
    int pipes[2], sockets[2], file = open("own.txt", O_RDWR | O_CREAT, 0644);
    char byte;
    if (pipe(pipes) || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) || flock(file, LOCK_EX))
        _exit(91);
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    fcntl(file, F_SETLK, &lock);
    gpu_open(&gpu, 0);
    work(500);
    pid_t child = fork();
    if (!child) {
        dprintf(STDOUT_FILENO, "the lock is still held: %d\n", fcntl(file, F_SETLK, &lock) && errno == EAGAIN);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    close(pipes[1]);
    close(sockets[1]);
    close(file);
    struct pollfd ended[] = { { .fd = pipes[0], .events = POLLIN }, { .fd = sockets[0], .events = POLLIN } };
    for (int i = 0; i < 2; i++)
        dprintf(STDOUT_FILENO, "ended: %d, read %zd\n", poll(&ended[i], 1, 1000),
                fcntl(ended[i].fd, F_SETFL, O_NONBLOCK) ? -2 : read(ended[i].fd, &byte, 1));
    file = open("own.txt", O_RDWR);
    dprintf(STDOUT_FILENO, "the file can be locked again: %d\n", !flock(file, LOCK_EX | LOCK_NB));
    work(500);
}

static atomic_int over;

/* Opens a file of the program under descriptor numbers that the program never opened. The shim's file may have one of
 * these numbers. */
static void *take_all(void *own)
{
    while (!atomic_load(&over))
        for (int fd = 500; fd < 504; fd++) {
            dup2(*(int *)own, fd);
            close(fd);
        }
    return NULL;
}

static void taken(void)
{
    pthread_t thread;
    int own = open("own.txt", O_WRONLY | O_CREAT | O_TRUNC, 0644);
    gpu_open(&gpu, 0);
    if (pthread_create(&thread, NULL, take_all, &own))
        _exit(91);
    for (int i = 0; i < 40; i++) {
        spin_times(&gpu, 2000, 1000);
        MUST(cuStreamSynchronize(gpu.stream));
    }
    atomic_store(&over, 1);
    pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
    const char *mode = mode_of(argc, argv);
    if (argc > 2 && !strcmp(argv[2], "old-kernel"))
        refuse(SYS_close_range, SYS_close_range, SECCOMP_RET_ERRNO | ENOSYS);
    if (argc > 2 && !strcmp(argv[2], "sandbox"))
        refuse(SYS_close_range, SYS_unshare, SECCOMP_RET_ERRNO | EPERM);
    if (argc > 2 && !strcmp(argv[2], "deadly"))
        refuse(SYS_close_range, SYS_unshare, SECCOMP_RET_KILL_THREAD);
    if (!strcmp(mode, "listed"))
        listed();
    else if (!strcmp(mode, "ends"))
        ends();
    else if (!strcmp(mode, "taken"))
        taken();
    else
        return unknown_mode(mode);
    return 0;
}
