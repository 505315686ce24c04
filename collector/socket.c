#include "collector/socket.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "collector/say.h"

enum { BACKLOG = 1024 };

static int failed(const char *path, const char *why)
{
    say("%s: %s", path, why);
    return -1;
}

/* Makes the socket's folder, or checks that it is for this user alone, so that others cannot replace the socket. */
static int make_folder(struct listening *listening)
{
    char folder[sizeof(listening->path)];
    struct stat about;
    snprintf(folder, sizeof(folder), "%s", listening->path);
    char *slash = strrchr(folder, '/');
    if (!slash)
        return failed(listening->path, "give the path of a socket in a folder of its own");
    slash[slash == folder] = 0;
    listening->made_folder = !mkdir(folder, 0700);
    if (!listening->made_folder && errno != EEXIST)
        return failed(folder, strerror(errno));
    if (lstat(folder, &about) || !S_ISDIR(about.st_mode) || about.st_uid != geteuid() || about.st_mode & 077)
        return failed(folder, "others may use this folder; name one that is yours alone (mode 0700), or a new one");
    return 0;
}

/* Returns NULL if nothing at the path hinders a new socket. Otherwise returns a text that names the obstacle: a
 * socket on which a program listens, or a file that is no socket. */
static const char *what_is_there(const struct sockaddr_un *address, int type)
{
    struct stat about;
    if (lstat(address->sun_path, &about))
        return NULL;
    if (!S_ISSOCK(about.st_mode))
        return "something else has this name; it is no socket";

    int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int error = fd < 0 || connect(fd, (const struct sockaddr *)address, sizeof(*address)) ? errno : 0;
    if (fd >= 0)
        close(fd);
    return !error || error == EAGAIN                  ? "another collector listens there"
           : error == ECONNREFUSED || error == ENOENT ? NULL /* a killed collector has left the socket */
                                                      : "another program's socket is there";
}

int listening_start(struct listening *listening, const char *path, int type)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX }, beside = { .sun_family = AF_UNIX };
    *listening = (struct listening){ .fd = -1 };
    if (strlen(path) + sizeof(".1234") > sizeof(address.sun_path))
        return failed(path, "this path is too long for a socket");
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    snprintf(listening->path, sizeof(listening->path), "%s", path);
    uint16_t word = (uint16_t)getpid(); /* for a temporary name; random, as two collectors may start at once */
    ssize_t ignored = getrandom(&word, sizeof(word), GRND_NONBLOCK);
    (void)ignored;
    snprintf(beside.sun_path, sizeof(beside.sun_path), "%.101s.%04x", path, word);
    if (make_folder(listening))
        return -1;
    const char *taken = what_is_there(&address, type);
    if (taken)
        return failed(path, taken);
    listening->fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (listening->fd < 0 || bind(listening->fd, (struct sockaddr *)&beside, sizeof(beside)))
        return failed(path, strerror(errno));
    if (chmod(beside.sun_path, 0600) || listen(listening->fd, BACKLOG) || rename(beside.sun_path, path)) {
        int status = failed(path, strerror(errno));
        unlink(beside.sun_path);
        return status;
    }
    listening->owns_path = true;
    return 0;
}

void listening_end(struct listening *listening)
{
    char *slash = strrchr(listening->path, '/');
    if (listening->fd < 0)
        return;
    close(listening->fd);
    if (listening->owns_path)
        unlink(listening->path);
    if (listening->made_folder && slash) {
        *slash = 0;
        rmdir(listening->path);
    }
    listening->fd = -1;
}
