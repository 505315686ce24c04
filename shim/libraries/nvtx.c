/* Records the ranges and marks that the program sets with NVTX. NVTX passes its calls to the library that
 * NVTX_INJECTION64_PATH names. `wallshim record` sets this variable to the shim's path (abi/nvtx.h).
 *
 * The state of a thread lists the ranges that it has begun and not yet ended. When a range ends, the shim writes its
 * record. A mark is a range without length. If a range began before the recording, the shim ignores its end. To the
 * program, NVTX's functions return the same values as without a tool, except handles of domains and strings, and ids
 * of ranges. */
#include <errno.h>
#include <string.h>

#include "abi/nvtx.h"
#include "shim/libraries/library_calls.h"
#include "shim/libraries/nvtx_names.h"
#include "shim/state/life.h"

/* An NVTX call of the program, while the shim handles it. */
struct within {
    struct shim_thread *thread; /* NULL: the shim ignores the call */
    uintptr_t frame;
    int saved_errno;
};

/* Returns true if the NVTX call is to be handled. A call inside a wrapped call is not handled: the driver, a library
 * or a signal handler has made the NVTX call. A range that begins inside a wrapped call also ends there, so neither
 * its begin nor its end is handled. */
static inline __attribute__((always_inline)) bool nvtx_enters(struct within *within)
{
    within->thread = NULL;
    if (!shim_started())
        return false;
    within->saved_errno = errno;
    struct shim_thread *thread = thread_self.thread;
    if (!thread && shim_recording())
        thread = thread_get();
    if (!thread || call_is_nested(thread)) {
        errno = within->saved_errno;
        return false;
    }
    frame_begin(thread, &thread->within, &within->frame);
    within->thread = thread;
    return true;
}

static void nvtx_leaves(const struct within *within)
{
    within->thread->within = 0;
    errno = within->saved_errno;
}

/* --- ranges ------------------------------------------------------------------------------------------ */

static void count_left(struct shim_thread *thread)
{
    __atomic_store_n(&thread->ranges_left, thread->ranges_left + 1, __ATOMIC_RELAXED);
}

static void put_range(struct shim_thread *thread, const struct range_open *range, uint64_t end)
{
    if (!range->name.label)
        count_left(thread);
    if (!range->name.label || !shim_recording())
        return;
    struct ws_ring_range *record = ws_ring_reserve_one(&thread->ring);
    if (!record)
        return;
    *record = (struct ws_ring_range){
        .header = { .kind = WS_RING_RANGE, .slots = 1, .detail = (uint16_t)range->name.kind },
        .ticks_begin = range->ticks,
        .ticks_end = end,
        .number = range->name.number,
        .name = range->name.label,
    };
    ws_ring_commit(&thread->ring, 1);
}

static void take_out(struct shim_thread *thread, uint32_t at)
{
    uint32_t behind = thread->ranges_open - at - 1;
    memmove(&thread->ranges[at], &thread->ranges[at + 1], behind * sizeof(thread->ranges[0]));
    __atomic_store_n(&thread->ranges_open, thread->ranges_open - 1, __ATOMIC_RELAXED);
}

/* Chooses a range to drop when too many are open: the oldest range with an id, because it may have ended in another
 * thread; if no range has an id, the oldest range, because the program has most likely left it by longjmp. */
static uint32_t range_to_leave(const struct shim_thread *thread)
{
    for (uint32_t at = 0; at < thread->ranges_open; at++)
        if (thread->ranges[at].id)
            return at;
    return 0;
}

static void range_begins(struct shim_thread *thread, const struct range_open *range)
{
    if (thread->ranges_open == RANGES_OPEN) {
        take_out(thread, range_to_leave(thread));
        count_left(thread);
    }
    thread->ranges[thread->ranges_open] = *range;
    __atomic_store_n(&thread->ranges_open, thread->ranges_open + 1, __ATOMIC_RELAXED);
}

/* Ends the thread's newest range with this id. With id 0, ends the newest range of this domain that has no id. */
static void range_ends(struct shim_thread *thread, uint32_t domain, uint64_t id, uint64_t end)
{
    for (uint32_t at = thread->ranges_open; at--;) {
        const struct range_open range = thread->ranges[at];
        if (range.id != id || (!id && range.domain != domain))
            continue;
        take_out(thread, at);
        put_range(thread, &range, end);
        return;
    }
}

/* --- what the program passes to NVTX ------------------------------------------------------------------ */

/* What an NVTX call passes: a name, in one of three forms (text, wide, string), and possibly a number. */
struct message {
    const char *text;
    const wchar_t *wide;
    ws_nvtxString string;
    const uint64_t *number; /* the number that the call passes; NULL: the call passes no number */
    uint64_t payload;
};

static bool has_member(const ws_nvtxEventAttributes *attributes, size_t end)
{
    return attributes && attributes->size >= end;
}
#define HAS(attributes, member) \
    has_member(attributes, offsetof(ws_nvtxEventAttributes, member) + sizeof((attributes)->member))

static void read_payload(struct message *message, const ws_nvtxEventAttributes *attributes)
{
    switch (attributes->payloadType) {
    case WS_NVTX_PAYLOAD_TYPE_UNSIGNED_INT64:
    case WS_NVTX_PAYLOAD_TYPE_INT64:
        message->payload = attributes->payload.ullValue;
        break;
    case WS_NVTX_PAYLOAD_TYPE_UNSIGNED_INT32:
        message->payload = attributes->payload.uiValue;
        break;
    case WS_NVTX_PAYLOAD_TYPE_INT32:
        message->payload = (uint64_t)(int64_t)attributes->payload.iValue;
        break;
    default: /* the call passes no payload, or a payload that is no integer */
        return;
    }
    message->number = &message->payload;
}

static void read_attributes(struct message *message, const ws_nvtxEventAttributes *attributes)
{
    if (HAS(attributes, payload))
        read_payload(message, attributes);
    if (!HAS(attributes, message))
        return;
    if (attributes->messageType == WS_NVTX_MESSAGE_TYPE_ASCII)
        message->text = attributes->message.ascii;
    else if (attributes->messageType == WS_NVTX_MESSAGE_TYPE_UNICODE)
        message->wide = attributes->message.unicode;
    else if (attributes->messageType == WS_NVTX_MESSAGE_TYPE_REGISTERED)
        message->string = attributes->message.registered;
}

static struct range_label name_of(struct shim_thread *thread, uint32_t domain, const struct message *message)
{
    char narrow[NVTX_TEXT];
    const char *text = message->wide ? nvtx_narrow(narrow, message->wide) : message->text;
    struct range_label name =
        message->string ? nvtx_name_of_string(message->string) : nvtx_name_of_text(thread, domain, text);
    if (message->number && !name.number)
        name.number = *message->number;
    return name;
}

/* --- NVTX's functions ---------------------------------------------------------------------------------- */

enum what { MARK, PUSH, START };

/* Begins a range, or sets a mark. Returns the range's id if `what` is START, else 0. */
static inline __attribute__((always_inline)) uint64_t begin(enum what what, ws_nvtxDomain domain,
                                                            const struct message *message)
{
    struct within within;
    if (!nvtx_enters(&within))
        return 0;
    struct shim_thread *thread = within.thread;
    struct range_open range = { .domain = nvtx_domain_number(domain) };
    range.name = name_of(thread, range.domain, message);
    if (what == START)
        range.id = (uint64_t)thread->number << 32 | ++thread->range_number;
    range.ticks = ticks_now();
    if (what == MARK)
        put_range(thread, &range, range.ticks);
    else
        range_begins(thread, &range);
    nvtx_leaves(&within);
    return range.id;
}

static inline __attribute__((always_inline)) void end(ws_nvtxDomain domain, uint64_t id)
{
    struct within within;
    uint64_t ticks = ticks_now();
    if (!nvtx_enters(&within))
        return;
    range_ends(within.thread, nvtx_domain_number(domain), id, ticks);
    nvtx_leaves(&within);
}

#define ATTRIBUTES(name)         \
    struct message name = { 0 }; \
    read_attributes(&name, attributes)

static void mark_ex(const ws_nvtxEventAttributes *attributes)
{
    ATTRIBUTES(message);
    begin(MARK, NULL, &message);
}

static void mark(const char *text)
{
    begin(MARK, NULL, &(struct message){ .text = text });
}

static void mark_wide(const wchar_t *text)
{
    begin(MARK, NULL, &(struct message){ .wide = text });
}

static ws_nvtxRangeId start_ex(const ws_nvtxEventAttributes *attributes)
{
    ATTRIBUTES(message);
    return begin(START, NULL, &message);
}

static ws_nvtxRangeId start(const char *text)
{
    return begin(START, NULL, &(struct message){ .text = text });
}

static ws_nvtxRangeId start_wide(const wchar_t *text)
{
    return begin(START, NULL, &(struct message){ .wide = text });
}

static void end_started(ws_nvtxRangeId id)
{
    if (id)
        end(NULL, id);
}

static int push_ex(const ws_nvtxEventAttributes *attributes)
{
    ATTRIBUTES(message);
    begin(PUSH, NULL, &message);
    return WS_NVTX_NO_PUSH_POP_TRACKING;
}

static int push(const char *text)
{
    begin(PUSH, NULL, &(struct message){ .text = text });
    return WS_NVTX_NO_PUSH_POP_TRACKING;
}

static int push_wide(const wchar_t *text)
{
    begin(PUSH, NULL, &(struct message){ .wide = text });
    return WS_NVTX_NO_PUSH_POP_TRACKING;
}

static int pop(void)
{
    end(NULL, 0);
    return WS_NVTX_NO_PUSH_POP_TRACKING;
}

static void domain_mark(ws_nvtxDomain domain, const ws_nvtxEventAttributes *attributes)
{
    ATTRIBUTES(message);
    begin(MARK, domain, &message);
}

static ws_nvtxRangeId domain_start(ws_nvtxDomain domain, const ws_nvtxEventAttributes *attributes)
{
    ATTRIBUTES(message);
    return begin(START, domain, &message);
}

static void domain_end_started(ws_nvtxDomain domain, ws_nvtxRangeId id)
{
    (void)domain; /* a range's id is unique in the process, so no domain is needed */
    end_started(id);
}

static int domain_push(ws_nvtxDomain domain, const ws_nvtxEventAttributes *attributes)
{
    ATTRIBUTES(message);
    begin(PUSH, domain, &message);
    return WS_NVTX_NO_PUSH_POP_TRACKING;
}

static int domain_pop(ws_nvtxDomain domain)
{
    end(domain, 0);
    return WS_NVTX_NO_PUSH_POP_TRACKING;
}

static ws_nvtxString register_string_wide(ws_nvtxDomain domain, const wchar_t *text)
{
    char narrow[NVTX_TEXT];
    return nvtx_string(domain, nvtx_narrow(narrow, text));
}

static ws_nvtxDomain create_domain_wide(const wchar_t *name)
{
    char narrow[NVTX_TEXT];
    return nvtx_domain(nvtx_narrow(narrow, name));
}

/* --- NVTX asks for our functions ----------------------------------------------------------------------- */

#define CORE(name, function)                                                          \
    {                                                                                 \
        WS_NVTX_CB_MODULE_CORE, WS_NVTX_CBID_CORE_##name, (ws_nvtxFunction)(function) \
    }
#define CORE2(name, function)                                                           \
    {                                                                                   \
        WS_NVTX_CB_MODULE_CORE2, WS_NVTX_CBID_CORE2_##name, (ws_nvtxFunction)(function) \
    }

static const struct {
    uint8_t module, id;
    ws_nvtxFunction function;
} functions[] = {
    CORE(MarkEx, mark_ex),
    CORE(MarkA, mark),
    CORE(MarkW, mark_wide),
    CORE(RangeStartEx, start_ex),
    CORE(RangeStartA, start),
    CORE(RangeStartW, start_wide),
    CORE(RangeEnd, end_started),
    CORE(RangePushEx, push_ex),
    CORE(RangePushA, push),
    CORE(RangePushW, push_wide),
    CORE(RangePop, pop),
    CORE2(DomainMarkEx, domain_mark),
    CORE2(DomainRangeStartEx, domain_start),
    CORE2(DomainRangeEnd, domain_end_started),
    CORE2(DomainRangePushEx, domain_push),
    CORE2(DomainRangePop, domain_pop),
    CORE2(DomainRegisterStringA, nvtx_string),
    CORE2(DomainRegisterStringW, register_string_wide),
    CORE2(DomainCreateA, nvtx_domain),
    CORE2(DomainCreateW, create_domain_wide),
};

__attribute__((visibility("default"))) int InitializeInjectionNvtx2(ws_nvtxGetExportTable get_table);
__attribute__((visibility("default"))) int InitializeInjectionNvtx(ws_nvtxGetExportTable get_table);

/* Called by NVTX, once for each library that contains a copy of NVTX. Puts our functions into NVTX's tables. Returns
 * 0 if ranges are not to be recorded. NVTX then works as if no tool were loaded. */
int InitializeInjectionNvtx2(ws_nvtxGetExportTable get_table)
{
    if (!shim_life.prepare() || shim_is_aside() || !shim_options.nvtx)
        return 0;
    const ws_nvtxExportTableCallbacks *callbacks = get_table ? get_table(WS_NVTX_ETID_CALLBACKS) : NULL;
    if (!callbacks || callbacks->struct_size < sizeof(*callbacks) || !callbacks->GetModuleFunctionTable)
        return 0;
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        ws_nvtxFunction **table = NULL;
        unsigned size = 0;
        if (callbacks->GetModuleFunctionTable(functions[i].module, &table, &size) && table &&
            functions[i].id < size && table[functions[i].id])
            *table[functions[i].id] = functions[i].function;
    }
    return 1;
}

/* Does the same as InitializeInjectionNvtx2: versions 1 and 2 of NVTX look for a function with this name. */
int InitializeInjectionNvtx(ws_nvtxGetExportTable get_table)
{
    return InitializeInjectionNvtx2(get_table);
}
