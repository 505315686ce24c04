/* `wallshim attach` puts a page of code and, after the page, a struct ws_late_block into a process that was started
 * without the shim. The command and the process communicate through the block.
 *
 * Steps:
 * - The command stops a thread of the process, lets it continue at `late_call` (src/attach/code_x86_64.c), and
 *   detaches from it at once.
 * - late_call saves all registers, creates a thread, restores the registers, and returns to the system call at which
 *   the thread was stopped.
 * - The new thread runs `late_main`: it creates files in memory, waits until the command has filled the files with
 *   libraries, loads the libraries, and calls the shim.
 *
 * If the command is killed, the process continues: every wait in the process has a deadline. The page and the block
 * stay in the process. The next `wallshim attach` recognizes the page by its code, waits until the thread of the
 * earlier attach no longer uses the block, and then uses page and block again. */
#ifndef WALLSHIM_WIRE_LATE_H
#define WALLSHIM_WIRE_LATE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum {
    WS_LATE_VERSION = 1,
    WS_LATE_PAGE = 4096,
    WS_LATE_SIZE = 8 * WS_LATE_PAGE, /* bytes of the page of code and the block together */
    WS_LATE_DECODER = 0,             /* DECODER and SHIM: indices of the two libraries, in the order of loading */
    WS_LATE_SHIM = 1,
    WS_LATE_LIBRARIES = 2,
    WS_LATE_STATE = 16 << 10, /* bytes for the registers that XSAVE saves: 11 KiB with AMX */
    WS_LATE_TEXT = 256,
    WS_LATE_JUMP = 5, /* bytes of the jump that overwrites code */
};

enum { WS_LATE_OVER = -1 };

enum ws_late_state {
    WS_LATE_NOTHING,
    WS_LATE_FILES,    /* set by the process: it has created files in memory for the libraries */
    WS_LATE_FILLED,   /* set by the command: it has written the libraries to the files */
    WS_LATE_PREPARED, /* set by the process: the shim's socket is open, and patches may be written */
    WS_LATE_APPLIED,  /* set by the command: it has written the patches */
    WS_LATE_FAILED,   /* set by the process: nothing was patched; `text` says why */
};

struct ws_late_block {
    _Alignas(64) uint8_t registers[WS_LATE_STATE];
    /* The next members are used by late_call. pthread_create and errno_location are addresses of functions in the
     * process. */
    uint64_t pthread_create, errno_location;
    uint64_t main; /* address of late_main in the page */
    uint64_t back; /* address at which the stopped thread continues */
    uint64_t mask; /* the stopped thread's signal mask */
    uint64_t created_thread;
    int32_t created; /* the result of pthread_create in late_call */
    uint32_t called; /* 1 once late_call is done and the stopped thread is about to return from it */
    /* The next members are used by late_main. */
    uint64_t pthread_self, pthread_detach, dlopen, dlsym, dlclose;
    uint64_t entry;         /* the shim's entry function, if the shim is already loaded; else 0: load the libraries */
    _Atomic uint32_t state; /* a value of enum ws_late_state */
    int32_t thread; /* id of the new thread; 0: it has not started; WS_LATE_OVER: it no longer uses the block */
    int32_t files[WS_LATE_LIBRARIES];
    char thread_name[16], file_name[32], entry_name[32];
    /* The path "/proc/thread-self/fd/N" from which a library is loaded. If the program itself had loaded a library
     * from the same path, dlopen would return that library. So the path must be one that programs do not use. */
    char path[64];
    uint32_t path_tail;                    /* offset of N in `path` */
    uint64_t libraries[WS_LATE_LIBRARIES]; /* handles of the loaded libraries, from dlopen */
    /* The next members are used by the shim. */
    uint32_t version;
    uint64_t token[2]; /* a client that sends this token may use the shim's socket */
    uint64_t patches;  /* address of an array of struct ws_late_patch; valid from state WS_LATE_PREPARED on */
    uint32_t patch_count, refused_count;
    char text[WS_LATE_TEXT];
};

/* A place of the program's code that a jump overwrites. While the jump is written, all threads are stopped, and no
 * thread may be inside the code: at an address after `begin` and before `end`. The command writes the jump, because
 * it is already running on a CPU. A thread of the process might have to wait for a CPU while all other threads of
 * the process are stopped. */
struct ws_late_patch {
    uint64_t begin, end;
    uint8_t original[WS_LATE_JUMP], jump[WS_LATE_JUMP];
};

_Static_assert(sizeof(struct ws_late_block) <= WS_LATE_SIZE - WS_LATE_PAGE, "the block fits behind the page");

#endif
