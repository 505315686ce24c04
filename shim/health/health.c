#include "shim/health/health.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/clock.h"
#include "base/uuid.h"
#include "shim/health/nvml.h"
#include "shim/objects/contexts.h"
#include "shim/objects/thread.h"
#include "shim/state/futex.h"
#include "shim/state/phase.h"
#include "shim/state/registry.h"

enum {
    DEVICES = 64,         /* only devices with a CUDA ordinal below this number are sampled */
    PLACES = 256,         /* room for samples that the drain thread has not read yet; a power of 2 */
    FIRST_NS = 100000000, /* ns from the start of the recording to the first sample */
};
static const int64_t IDLE_NS = 16000000000; /* ns between samples while the program is idle */

enum sampler_state { RESTS, ASKED, SAMPLES, ENDED };

static _Atomic uint32_t state; /* enum sampler_state; a futex */
static _Atomic uint32_t threads;

/* Samples that the drain thread has not read yet: the sampler thread writes at index `put`, the drain thread reads at
 * `taken` (both modulo PLACES). */
static struct ws_health places[PLACES];
static _Atomic uint32_t put, taken;

/* The sampler thread writes the following variables. The drain thread reads `why` once `refused` is set, and the
 * _Atomic variables. If the drain thread cannot start the sampler, it sets `why` and `refused` itself. */
static struct {
    bool found, gone;
    struct nvml_device nvml;
} devices[DEVICES];
static bool opened;
static const char *why;
static _Atomic bool refused;
static _Atomic uint64_t samples, failures;
static _Atomic uint32_t last_error; /* the last error that NVML returned (nvmlReturn_t) */

/* Used by the drain thread only; times are host ns. */
static bool started, ended;
static int64_t last_sample, last_active;
static int sandbox; /* the process's seccomp mode when the recording began */

/* --- the sampler ---------------------------------------------------------------------------------- */

static bool is_used(uint32_t device)
{
    for (uint32_t id = 1; id <= context_count(); id++)
        if (context_at(id)->device == device && atomic_load(&context_at(id)->life) == CONTEXT_ALIVE)
            return true;
    return false;
}

/* Hands the sample to the drain thread. Drops the sample if the drain thread has not read the last PLACES samples
 * yet. */
static void publish(const struct ws_health *sample)
{
    uint32_t at = atomic_load_explicit(&put, memory_order_relaxed);
    if (at - atomic_load_explicit(&taken, memory_order_acquire) >= PLACES)
        return;
    places[at % PLACES] = *sample;
    atomic_store_explicit(&put, at + 1, memory_order_release);
    atomic_fetch_add(sample->error ? &failures : &samples, 1);
    if (sample->error)
        atomic_store(&last_error, sample->error);
}

static ws_nvmlReturn find(uint32_t device)
{
    const struct ws_device *row = registry_row(&registry.device, device);
    char uuid[WS_UUID_SIZE];
    if (row->uuid.length >= sizeof(uuid))
        return WS_NVML_ERROR_NOT_FOUND;
    memcpy(uuid, row->uuid.data, row->uuid.length);
    uuid[row->uuid.length] = 0;
    return nvml_find(uuid, &devices[device - 1].nvml);
}

/* Takes a sample of the device. A device that NVML does not find is looked up only once. An example is a part of a
 * GPU (MIG), for which NVML and CUDA have different names. */
static void sample_device(uint32_t device)
{
    struct ws_health sample = { .device = device, .host_ns = ws_clock_ns() };
    if (!devices[device - 1].found) {
        sample.error = find(device);
        devices[device - 1].gone = sample.error != 0;
        devices[device - 1].found = true;
    }
    if (!sample.error)
        nvml_sample(&devices[device - 1].nvml, &sample);
    int64_t took = ws_clock_ns() - sample.host_ns;
    sample.took_ns = took < UINT32_MAX ? (uint32_t)took : UINT32_MAX;
    devices[device - 1].gone |= nvml_is_final(sample.error);
    publish(&sample);
}

static void refuse(const char *reason)
{
    why = reason;
    atomic_store(&refused, true);
}

static void sample_all(void)
{
    if (!opened) {
        opened = true;
        const char *reason = nvml_open();
        if (reason)
            refuse(reason);
    }
    uint32_t count = atomic_load_explicit(&registry.device.count, memory_order_acquire);
    for (uint32_t device = 1; device <= count && device <= DEVICES && !atomic_load(&refused); device++)
        if (!devices[device - 1].gone && is_used(device))
            sample_device(device);
}

static void *sampler_main(void *unused)
{
    (void)unused;
    thread_self.ours = true;
    prctl(PR_SET_NAME, "wallshim-health");
    for (;;) {
        uint32_t seen = atomic_load(&state);
        if (seen == ENDED || atomic_load(&refused))
            break;
        /* NVML may open files. If the program has entered a seccomp sandbox since the recording began, the sandbox
         * may kill the process for opening a file. */
        if (seen == ASKED && prctl(PR_GET_SECCOMP) != sandbox) {
            refuse("the program has entered a sandbox");
            break;
        }
        if (seen == ASKED && atomic_compare_exchange_strong(&state, &seen, SAMPLES)) {
            sample_all();
            seen = SAMPLES;
            atomic_compare_exchange_strong(&state, &seen, RESTS);
        } else if (seen == RESTS) {
            futex_wait_forever(&state, RESTS);
        }
    }
    atomic_store(&threads, 0);
    futex_wake_all(&threads); /* health_end may wait for this thread's end */
    return NULL;
}

/* --- what the drain thread calls ------------------------------------------------------------------ */

void health_begin(int64_t now)
{
    started = false;
    /* If the sampler thread of an earlier recording is still in a call of NVML, this recording gets no samples. */
    ended = atomic_load(&threads) != 0;
    if (!ended)
        atomic_store(&state, RESTS);
    last_sample = now;
    last_active = now;
    sandbox = prctl(PR_GET_SECCOMP);
}

static int64_t period(void)
{
    return 1000000000 / (int64_t)shim_options.health;
}

static bool is_over(void)
{
    return !shim_options.health || ended || atomic_load_explicit(&refused, memory_order_relaxed);
}

/* The pause before the first sample, ns. The first sample loads NVML. Short programs end during the pause, and need
 * no sample. There is no pause if the process is in a seccomp sandbox from the start, as in a container. Such a
 * process may enter a second, stricter sandbox, in which loading NVML could kill the process. The shim would not
 * notice the second sandbox, because the seccomp mode stays the same. So NVML is loaded at once. */
static int64_t first_pause(void)
{
    return sandbox ? 0 : FIRST_NS;
}

/* Host time at which the next sample is due, ns. After the program's last activity, one more sample follows after the
 * usual pause. Then the program counts as idle. */
static int64_t next_sample(void)
{
    int64_t pause = last_active < last_sample ? IDLE_NS : started ? period() : first_pause();
    return last_sample + pause;
}

int64_t health_due_in(int64_t now)
{
    return is_over() || last_active < last_sample ? INT64_MAX : next_sample() - now;
}

void health_keep(int64_t now, bool active)
{
    uint32_t rests = RESTS;
    if (is_over())
        return;
    if (active)
        last_active = now;
    if (now < next_sample())
        return;
    last_sample = now;
    if (!started) {
        started = true;
        atomic_store(&threads, 1);
        if (thread_start(sampler_main)) {
            atomic_store(&threads, 0);
            refuse("no thread could be started");
            return;
        }
    }
    if (atomic_compare_exchange_strong(&state, &rests, ASKED)) /* false if the sampler is still in a call of NVML */
        futex_wake_all(&state);
}

bool health_take(struct ws_health *sample)
{
    uint32_t at = atomic_load_explicit(&taken, memory_order_relaxed);
    if (at == atomic_load_explicit(&put, memory_order_acquire))
        return false;
    *sample = places[at % PLACES];
    atomic_store_explicit(&taken, at + 1, memory_order_release);
    return true;
}

void health_end(int64_t patience_ns)
{
    if (ended)
        return;
    ended = true;
    atomic_store(&state, ENDED);
    futex_wake_all(&state);
    int64_t deadline = ws_clock_ns() + patience_ns, now;
    while (atomic_load(&threads) && (now = ws_clock_ns()) < deadline)
        futex_wait(&threads, 1, deadline - now);
}

const char *health_summary(void)
{
    static char text[160];
    if (!shim_options.health || !started)
        return NULL;
    unsigned long long done = atomic_load(&samples), failed = atomic_load(&failures);
    char failures_text[64] = "";
    if (failed)
        snprintf(failures_text, sizeof(failures_text), ", %llu failed, the last with error %u", failed,
                 atomic_load(&last_error));
    if (atomic_load(&refused))
        snprintf(text, sizeof(text), "not sampled: %s", why);
    else
        snprintf(text, sizeof(text), "%llu samples by NVML%s%s", done, failures_text,
                 ended && atomic_load(&threads) ? "; a call had not returned at the end" : "");
    return text;
}

unsigned health_thread_count(void)
{
    return atomic_load_explicit(&threads, memory_order_relaxed);
}
