/* Compares our declarations of CUPTI's binary interface with its headers: values, sizes and offsets. It is in C++,
 * because cupti_profiler_host.h includes <string>. */
#include <cuda.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>
#include <cupti_version.h>

#include "src/abi/cupti.h"
#include "abi.h"

static void compare_values()
{
#define VALUE(name, value) EXPECT((long long)WS_##name == (long long)name, #name " is %lld", (long long)name);
    WS_CUPTI_VALUES(VALUE)
    EXPECT(sizeof(ws_CUptiResult) == sizeof(CUptiResult), "CUptiResult has %zu bytes", sizeof(CUptiResult));
    EXPECT(sizeof(ws_CUptiEnum) == sizeof(CUpti_ProfilerRange), "CUpti_ProfilerRange has %zu bytes",
           sizeof(CUpti_ProfilerRange));
}

#define MEMBER(type, name)                                                                                      \
    EXPECT(offsetof(ours_type, name) == offsetof(theirs_type, name), "%s of %s is at %zu", #name, which,        \
           offsetof(theirs_type, name));                                                                        \
    EXPECT(sizeof(((ours_type *)0)->name) == sizeof(((theirs_type *)0)->name), "%s of %s has %zu bytes", #name, \
           which, sizeof(((theirs_type *)0)->name));
#define STRUCTURE(ours, theirs, members)                                                                  \
    {                                                                                                     \
        using ours_type = struct ws_cupti_##ours;                                                         \
        using theirs_type = theirs;                                                                       \
        [[maybe_unused]] const char *which = #theirs;                                                     \
        EXPECT(sizeof(ours_type) == sizeof(theirs_type), "%s has %zu bytes", which, sizeof(theirs_type)); \
        EXPECT(WS_CUPTI_SIZE_##ours == theirs##_STRUCT_SIZE, "%s: CUPTI's size is %zu, ours %zu", which,  \
               (size_t)theirs##_STRUCT_SIZE, (size_t)WS_CUPTI_SIZE_##ours);                               \
        MEMBER(size_t, structSize)                                                                        \
        MEMBER(void *, pPriv)                                                                             \
        members                                                                                           \
    }

int main()
{
    std::printf("CUPTI %d\n", CUPTI_API_VERSION);
    compare_values();
    WS_CUPTI_STRUCTURES(STRUCTURE, MEMBER)
#define FUNCTION(structure, symbol) \
    comparison<ws_CUptiResult(ws_cupti_##structure *), std::remove_reference_t<decltype(symbol)>>::run(#symbol);
    WS_CUPTI_FUNCTIONS(FUNCTION)
    return summary("CUPTI");
}
