#include "attach/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct node {
    int pid, parent;
    bool below; /* the process is the root, or a descendant of the root */
};

/* Returns the id of the process's parent, field 4 of /proc/PID/stat: "12 (name) S 1 …"; 0: unknown. The name may
 * contain parentheses, so the last parenthesis in the file ends the name. */
static int parent_of(int folder, const char *pid)
{
    char path[300], text[1024];
    snprintf(path, sizeof(path), "%s/stat", pid);
    int file = openat(folder, path, O_RDONLY | O_CLOEXEC);
    ssize_t size = file < 0 ? 0 : read(file, text, sizeof(text) - 1);
    if (file >= 0)
        close(file);
    text[size > 0 ? size : 0] = 0;
    const char *behind_name = strrchr(text, ')');
    return behind_name && strlen(behind_name) > 4 ? atoi(behind_name + 4) : 0;
}

/* Lists every process of the system. The alternative, /proc/PID/task/TID/children, is one file for each thread, and
 * CUDA programs have hundreds of threads. Some kernels also lack that file. */
static int list_processes(struct ws_vector *nodes)
{
    DIR *folder = opendir("/proc");
    int status = folder ? 0 : -errno;
    for (struct dirent *entry; folder && !status && (entry = readdir(folder));) {
        int pid = atoi(entry->d_name);
        struct node *node = pid > 0 ? ws_vector_push(nodes) : NULL;
        if (node)
            *node = (struct node){ .pid = pid, .parent = parent_of(dirfd(folder), entry->d_name) };
        else if (pid > 0)
            status = -ENOMEM;
    }
    if (folder)
        closedir(folder);
    return status;
}

static int by_pid(const void *a, const void *b)
{
    int x = ((const struct node *)a)->pid, y = ((const struct node *)b)->pid;
    return (x > y) - (x < y);
}

static struct node *node_of(const struct ws_vector *nodes, int pid)
{
    const struct node wanted = { .pid = pid };
    return nodes->count ? bsearch(&wanted, nodes->data, nodes->count, nodes->size, by_pid) : NULL;
}

/* Marks the descendants of the root. The system reuses process ids, so a child may have a smaller id than its parent,
 * and come before it in the list. One pass over the list is therefore not enough. */
static void mark_below(const struct ws_vector *nodes)
{
    struct node *list = nodes->data;
    for (bool grows = true; grows;) {
        grows = false;
        for (size_t i = 0; i < nodes->count; i++) {
            const struct node *parent = list[i].below ? NULL : node_of(nodes, list[i].parent);
            list[i].below |= parent && parent->below;
            grows |= parent && parent->below;
        }
    }
}

static int take_below(const struct ws_vector *nodes, struct ws_vector *pids)
{
    const struct node *list = nodes->data;
    for (size_t i = 0; i < nodes->count; i++) {
        int *pid = list[i].below ? ws_vector_push(pids) : NULL;
        if (list[i].below && !pid)
            return -ENOMEM;
        if (pid)
            *pid = list[i].pid;
    }
    return 0;
}

int ws_process_tree(int root, struct ws_vector *pids)
{
    struct ws_vector nodes = WS_VECTOR(struct node);
    int status = list_processes(&nodes);
    if (!status && nodes.count)
        qsort(nodes.data, nodes.count, nodes.size, by_pid);
    struct node *first = status ? NULL : node_of(&nodes, root);
    if (first) {
        first->below = true;
        mark_below(&nodes);
        status = take_below(&nodes, pids);
    } else if (!status) {
        status = -ESRCH;
    }
    ws_vector_finish(&nodes);
    return status;
}
