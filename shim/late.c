/* Starts and ends the shim in a program that was started without it. `wallshim attach` makes a thread of the program
 * load this library and call wallshim_attach (wire/late.h). The driver's functions are patched in place, so that they
 * jump to our wrappers. To run the original function, a wrapper calls the function's trampoline (attach/patch.h).
 * When the session is over, the patches are removed. The library stays loaded, because threads may still be inside a
 * wrapper. The next `wallshim attach` uses the loaded library again. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "shim/attach/patch.h"
#include "shim/control/control.h"
#include "shim/drain/drain.h"
#include "shim/drain/recording.h"
#include "shim/hook/elf_lookup.h"
#include "shim/hook/resolve.h"
#include "shim/libraries/nccl.h"
#include "shim/objects/functions.h"
#include "shim/objects/streams.h"
#include "shim/objects/thread.h"
#include "shim/state/life.h"
#include "shim/state/phase.h"
#include "wire/late.h"

#define EXPORTED __attribute__((visibility("default")))

/* The shim waits at most STOP_NS until `wallshim attach` has written the patches, and checks every LOOK_NS. */
enum { STOP_NS = 2000000000 /* ns */, LOOK_NS = 500000 };

/* If the library is loaded already, `wallshim attach` compares this version with its own version before it calls
 * wallshim_attach. */
EXPORTED const uint32_t wallshim_late_version = WS_LATE_VERSION;
EXPORTED void wallshim_attach(struct ws_late_block *block);

static struct patch patches[WS_ID_COUNT];
static struct patch *prepared[WS_ID_COUNT];
static struct ws_late_patch wanted[WS_ID_COUNT];
static const void *entries[WS_ID_COUNT];
static size_t prepared_count;

static void fail(struct ws_late_block *block, const char *why)
{
    snprintf(block->text, sizeof(block->text), "%s", why);
    atomic_store(&block->state, WS_LATE_FAILED);
}

/* --- patches ---------------------------------------------------------------------------------------- */

/* Is the row's function to be patched? Functions that look up functions, such as cuGetProcAddress, are not patched:
 * their wrappers would give the program the addresses of our wrappers, and the program would go on calling these
 * addresses after the session. */
static bool is_wanted(const struct resolve_row *row)
{
    return row->family != WS_CALL_RESOLUTION;
}

/* Is a patch for the function at this address prepared already? Several symbols may name the same function. */
static bool is_prepared(const void *entry)
{
    for (size_t i = 0; i < prepared_count; i++)
        if (entries[i] == entry)
            return true;
    return false;
}

/* Appends a function that cannot be patched, and the reason, to the text that `wallshim attach` prints. Appends
 * nothing if the text's buffer is half full. */
static void note_refusal(struct ws_late_block *block, const char *symbol, enum patch_refusal refusal)
{
    size_t used = strlen(block->text);
    if (used < sizeof(block->text) / 2)
        snprintf(block->text + used, sizeof(block->text) - used, "%s%s: %s", used ? "; " : "", symbol,
                 patch_reason(refusal));
    block->refused_count++;
}

static void prepare_one(struct ws_late_block *block, enum ws_function_id id)
{
    const struct resolve_row *row = &resolve_table[id];
    struct elf_object library;
    size_t size;
    void *entry = is_wanted(row) && elf_find_by_name(resolve_library_of(id), &library)
                      ? elf_sized_symbol(&library, row->symbol, &size)
                      : NULL;
    if (!entry || is_prepared(entry))
        return;
    enum patch_refusal refusal = patch_prepare(&patches[id], entry, size, row->wrapper);
    if (refusal) {
        note_refusal(block, row->symbol, refusal);
        return;
    }
    resolve_patched(id, entry, patch_trampoline(&patches[id]));
    uintptr_t begin, end;
    patch_range(&patches[id], &begin, &end);
    wanted[prepared_count] = (struct ws_late_patch){ .begin = begin, .end = end };
    memcpy(wanted[prepared_count].original, patches[id].original, WS_LATE_JUMP);
    memcpy(wanted[prepared_count].jump, patches[id].jump, WS_LATE_JUMP);
    entries[prepared_count] = entry;
    prepared[prepared_count++] = &patches[id];
}

static void prepare_all(struct ws_late_block *block)
{
    prepared_count = 0;
    block->refused_count = 0;
    *block->text = 0;
    for (int id = 0; id < WS_ID_COUNT; id++)
        prepare_one(block, (enum ws_function_id)id);
    block->patches = (uint64_t)(uintptr_t)wanted;
    block->patch_count = (uint32_t)prepared_count;
}

/* --- the way in and out ----------------------------------------------------------------------------- */

/* Sets the options for a shim that was loaded late. Turns off whatever would leave something behind in the program
 * after the session, or would take long to load. */
static void set_options(void)
{
    shim_late = true;
    shim_asleep = true;
    shim_options.start = WS_START_OFF;
    shim_options.collector = "";
    shim_options.burst = "";
    shim_options.salvage = false;
    shim_options.counters = false;
    shim_options.health = 0;
    shim_options.gate = WS_GATE_OFF;
    ws_log_set_level(WS_LOG_QUIET); /* the shim prints nothing: `wallshim attach` prints all messages */
    recording_prepare();
}

static bool start(void)
{
    if (shim_ever_started())
        return !drain_start();
    set_options();
    return shim_life.prepare() && shim_life.start();
}

_Static_assert((int)WS_LATE_JUMP == (int)PATCH_JUMP_SIZE, "the command writes what the patcher would");

/* Waits until `wallshim attach` has written the patches. Returns false if `wallshim attach` has not written them
 * within STOP_NS. In this case the block's state is WS_LATE_FAILED, which tells `wallshim attach` not to write the
 * patches any more. */
static bool wait_until_applied(struct ws_late_block *block)
{
    uint32_t state = WS_LATE_PREPARED;
    int64_t end = ws_clock_ns() + STOP_NS;
    while (atomic_load(&block->state) != WS_LATE_APPLIED && ws_clock_ns() < end)
        nanosleep(&(struct timespec){ 0, LOOK_NS }, NULL);
    return !atomic_compare_exchange_strong(&block->state, &state, WS_LATE_FAILED) && state == WS_LATE_APPLIED;
}

/* Called when the functions are no longer patched. Forgets contexts, streams, functions and communicators, because
 * the shim no longer sees the calls that change them. */
static void let_go(void)
{
    drain_detach();
    streams_forget_created();
    functions_doubt();
    nccl_forget_comms();
}

static void put_back(void)
{
    patches_remove(prepared, prepared_count);
    let_go();
}

static void attach(struct ws_late_block *block)
{
    thread_self.ours = true;
    if (block->version != WS_LATE_VERSION) {
        fail(block, "libwallshim.so and wallshim are of different versions");
        return;
    }
    if (block->libraries[WS_LATE_DECODER] &&
        patch_decoder_take((void *)(uintptr_t)block->libraries[WS_LATE_DECODER],
                           (void *(*)(void *, const char *))(uintptr_t)block->dlsym)) {
        fail(block, patch_reason(PATCH_NO_DECODER));
        return;
    }
    prepare_all(block);
    if (!prepared_count) {
        fail(block, "no function of the driver can be patched");
        return;
    }
    if (!start()) {
        fail(block, "the shim's thread could not be started");
        return;
    }
    if (!control_open_late(block->token, put_back)) {
        let_go();
        fail(block, "no socket can be made there");
        return;
    }
    atomic_store(&block->state, WS_LATE_PREPARED);
    if (!wait_until_applied(block)) {
        /* `wallshim attach` may have been killed after it had written some of the patches. */
        patches_remove(prepared, prepared_count);
        fail(block, "the functions were not patched in time");
        control_close_late();
        let_go();
        return;
    }
    control_serve_late();
}

EXPORTED void wallshim_attach(struct ws_late_block *block)
{
    static _Atomic bool busy;
    if (atomic_exchange(&busy, true)) {
        fail(block, "another attach is under way");
        return;
    }
    attach(block);
    atomic_store(&busy, false);
}
