/* What /proc says about another process. */
#ifndef WALLSHIM_ATTACH_PROCESS_H
#define WALLSHIM_ATTACH_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

enum ws_namespace { WS_NAMESPACE_PID, WS_NAMESPACE_NET, WS_NAMESPACE_USER, WS_NAMESPACE_MOUNT, WS_NAMESPACES };

struct ws_process_facts {
    int pid;
    int inner_pid; /* pid in the process's own pid namespace */
    int parent;
    int tracer;           /* pid of the process that traces this one; 0: none */
    unsigned uid;         /* effective user id */
    int seccomp;          /* seccomp mode of the process: 0: none, 1: strict, 2: a filter */
    bool handles_signals; /* the process has signal handlers, apart from those of the C library */
    char state;           /* the process's state, a letter as in /proc/PID/stat */
    char name[64];
    uint64_t namespaces[WS_NAMESPACES]; /* inode numbers of the process's namespaces; 0: unknown */
};

/* Returns 0; -ESRCH: there is no such process; or -errno. */
int ws_process_look(int pid, struct ws_process_facts *facts);

/* Was the process stopped, by a signal or by a tracer? It answers nothing then. */
bool ws_process_is_stopped(const struct ws_process_facts *process);

/* Is a signal pending that will interrupt the thread? `thread` is the thread's id in our pid namespace. Signals that
 * the thread blocks or the program ignores do not count; while a thread is traced, the kernel lists ignored signals
 * as pending too. Returns true if the pending signals cannot be read. */
bool ws_signal_waits(int thread);

/* Returns the id, in our pid namespace, of a thread of the process. `inner` is the thread's id in the process's pid
 * namespace. 0: there is no such thread. */
int ws_outer_thread(const struct ws_process_facts *process, int inner);

/* Returns the inode number of a namespace of the calling process; 0: not known. */
uint64_t ws_own_namespace(enum ws_namespace which);

#endif
