#include "record/record.h"

static const char *record_name_of(const char *const *names, uint32_t count, uint32_t index)
{
    return index < count ? names[index] : "?";
}

#define NAME_OF(names, index) record_name_of(names, sizeof(names) / sizeof((names)[0]), index)

const char *ws_loss_text(uint32_t reason)
{
    static const char *const texts[] = {
#define LOSS(name, text) text,
        WS_LOSSES(LOSS)
#undef LOSS
    };
    return reason < WS_LOSS_COUNT ? texts[reason] : "lost for a reason this version does not know";
}

const char *ws_family_name(uint32_t family)
{
    static const char *const names[] = {
#define FAMILY(name) #name,
        WS_FAMILIES(FAMILY)
#undef FAMILY
    };
    return NAME_OF(names, family);
}

const char *ws_op_kind_name(uint32_t kind)
{
    static const char *const names[] = { "unknown",       "kernel",   "copy",      "memset",     "graph",
                                         "host_function", "prefetch", "memory_op", "decompress", "interop" };
    _Static_assert(sizeof(names) / sizeof(names[0]) == WS_OP_KIND_COUNT, "one name a kind");
    return NAME_OF(names, kind);
}

const char *ws_space_name(uint32_t space)
{
    static const char *const names[] = {
        "unknown", "pageable", "pinned", "device", "array", "managed", "peer", "host"
    };
    _Static_assert(sizeof(names) / sizeof(names[0]) == WS_SPACE_COUNT, "one name a space");
    return NAME_OF(names, space);
}

const char *ws_quality_name(uint32_t quality)
{
    static const char *const names[] = { "none", "measured", "bounded", "inferred" };
    return NAME_OF(names, quality);
}

const char *ws_range_kind_name(uint32_t kind)
{
    static const char *const names[] = { "unknown", "step", "annotation", "operator", "python", "communication" };
    _Static_assert(sizeof(names) / sizeof(names[0]) == WS_RANGE_KIND_COUNT, "one name a kind");
    return NAME_OF(names, kind);
}
