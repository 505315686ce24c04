#include "engine/engine.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

pthread_mutex_t sim_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t sim_execute_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t sim_changed;
struct sim_gate_page sim_gate_page;
__thread bool sim_per_thread __attribute__((tls_model("initial-exec")));

enum { INTERN_BUCKETS = 1024 };

struct interned {
    struct interned *next;
    char text[];
};

static pthread_mutex_t intern_lock = PTHREAD_MUTEX_INITIALIZER;
static struct interned *interned[INTERN_BUCKETS];

const char *sim_intern(const char *text)
{
    unsigned hash = 5381;
    for (const char *at = text; *at; at++)
        hash = hash * 33 + (unsigned char)*at;
    struct interned **bucket = &interned[hash % INTERN_BUCKETS];
    pthread_mutex_lock(&intern_lock);
    struct interned *found = *bucket;
    while (found && strcmp(found->text, text) != 0)
        found = found->next;
    if (!found) {
        size_t bytes = strlen(text) + 1;
        found = malloc(sizeof(*found) + bytes);
        if (found) {
            memcpy(found->text, text, bytes);
            found->next = *bucket;
            *bucket = found;
        }
    }
    pthread_mutex_unlock(&intern_lock);
    return found ? found->text : "";
}

struct kept {
    struct kept *next;
    max_align_t start[];
};

/* The program used a stale handle or one of the wrong kind. The real driver may crash when it reads memory through
 * such a handle; with SIMGPU_STALE_ABORTS the simulated driver aborts. */
void sim_misused(const char *what)
{
    if (!sim_config.stale_aborts)
        return;
    sim_log("%s was used", what);
    abort();
}

void *sim_keep(size_t bytes)
{
    static struct kept *all;
    struct kept *kept = calloc(1, sizeof(*kept) + bytes);
    if (!kept)
        return NULL;
    pthread_mutex_lock(&intern_lock);
    kept->next = all;
    all = kept;
    pthread_mutex_unlock(&intern_lock);
    return kept->start;
}

int sim_thread_id(void)
{
    static __thread int tid;
    if (!tid)
        tid = (int)syscall(SYS_gettid);
    return tid;
}

static void set_gate(int answer)
{
    atomic_store(&sim_gate_page.answer, answer + 1);
}

/* Whether the lock can be taken within a second. It may never become free: if a signal handler calls exit, the driver
 * call that the handler interrupted may hold the lock. */
static bool obtainable(pthread_mutex_t *lock)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec++;
    if (pthread_mutex_timedlock(lock, &until) != 0)
        return false;
    pthread_mutex_unlock(lock);
    return true;
}

static void at_exit(void)
{
    if (sim_gate() != WS_CUDA_SUCCESS)
        return;
    bool free_to_work = obtainable(&sim_execute_lock) && obtainable(&sim_lock) && obtainable(&sim_truth_lock);
    if (free_to_work)
        sim_drain();
    set_gate(WS_CUDA_ERROR_DEINITIALIZED);
    if (free_to_work)
        sim_truth_flush();
}

void sim_first_context(void)
{
    if (sim_config.late_exit)
        atexit(at_exit);
}

static void close_gate(void)
{
    set_gate(WS_CUDA_ERROR_NOT_INITIALIZED);
}

ws_CUresult sim_engine_init(void)
{
    static pthread_mutex_t init_lock = PTHREAD_MUTEX_INITIALIZER;
    static _Atomic bool done;
    if (done && sim_gate() == WS_CUDA_ERROR_NOT_INITIALIZED) /* this is a forked child */
        return WS_CUDA_ERROR_NOT_INITIALIZED;
    pthread_mutex_lock(&init_lock);
    ws_CUresult result = WS_CUDA_SUCCESS;
    if (!done) {
        sim_config_load();
        pthread_condattr_t attributes;
        pthread_condattr_init(&attributes);
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
        pthread_cond_init(&sim_changed, &attributes);
        pthread_condattr_destroy(&attributes);
        result = sim_devices_init();
        if (result == WS_CUDA_SUCCESS) {
            if (madvise(&sim_gate_page, sizeof(sim_gate_page), MADV_WIPEONFORK))
                pthread_atfork(NULL, NULL, close_gate);
            if (!sim_config.late_exit)
                atexit(at_exit);
            set_gate(WS_CUDA_SUCCESS);
            done = true;
        }
    } else if (sim_gate() == WS_CUDA_ERROR_DEINITIALIZED) {
        result = WS_CUDA_ERROR_DEINITIALIZED;
    }
    pthread_mutex_unlock(&init_lock);
    return result;
}
