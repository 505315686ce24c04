#include "scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "interrupts.h"

static char folder[PATH_MAX]; /* path of the folder; empty: the folder is not made yet */
static unsigned count;        /* number of files created; their names are 0, 1, 2 … */

/* Removes the files and the folder. Runs when the command ends. */
static void scratch_clean(void)
{
    char path[PATH_MAX + 16];
    for (unsigned i = 0; i < count; i++) {
        snprintf(path, sizeof(path), "%s/%u", folder, i);
        unlink(path);
    }
    rmdir(folder);
}

static int scratch_make_folder(void)
{
    const char *parent = getenv("TMPDIR");
    char path[PATH_MAX];
    if (!parent || !*parent)
        parent = "/tmp";
    int size = snprintf(path, sizeof(path), "%s/wallshim-XXXXXX", parent);
    if (size >= PATH_MAX - 16) /* each file's path is this path, "/" and a number */
        return tool_error("%s: the path is too long for temporary files; set TMPDIR to another folder", parent);
    if (!mkdtemp(path))
        return tool_error("%s: no folder for temporary files can be made here: %s; set TMPDIR to another folder",
                          parent, strerror(errno));
    memcpy(folder, path, sizeof(folder));
    tool_interrupts_scratch(folder, 0);
    return atexit(scratch_clean) ? tool_error("out of memory") : 0;
}

/* Creates the file while signals are blocked, so that no signal leaves the file behind. */
int tool_scratch_create(char **path)
{
    sigset_t before;
    char *made = NULL;
    int file = -1;
    tool_interrupts_hold(&before);
    int status = *folder ? 0 : scratch_make_folder();
    if (!status && asprintf(&made, "%s/%u", folder, count) < 0) {
        made = NULL;
        status = tool_error("out of memory");
    }
    if (!status && made) {
        file = open(made, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (file < 0)
            tool_error("%s: cannot be written: %s", made, strerror(errno));
        else
            tool_interrupts_scratch(folder, ++count);
    }
    tool_interrupts_release(&before);
    if (file < 0) {
        free(made);
        made = NULL;
    }
    *path = made;
    return file;
}

int tool_scratch_write(int file, const char *name, const void *bytes, size_t size)
{
    const char *at = bytes;
    while (size) {
        ssize_t put = write(file, at, size);
        if (put < 0 && errno != EINTR)
            return tool_error("%s: cannot be copied to %s: %s; set TMPDIR to a folder with more room", name, folder,
                              strerror(errno));
        at += put > 0 ? put : 0;
        size -= put > 0 ? (size_t)put : 0;
    }
    return 0;
}

void tool_scratch_remove(char *path)
{
    if (path)
        unlink(path);
    free(path);
}
