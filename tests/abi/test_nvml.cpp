/* Compares our declarations of NVML's binary interface with nvml.h: values, structures and functions. */
#include <nvml.h>

#include "src/abi/nvml.h"
#include "abi.h"

static void compare_values()
{
#define VALUE(name, value) EXPECT((long long)WS_##name == (long long)name, #name " is %lld", (long long)name);
    WS_NVML_VALUES(VALUE)
    EXPECT(sizeof(ws_nvmlReturn) == sizeof(nvmlReturn_t), "nvmlReturn_t has %zu bytes", sizeof(nvmlReturn_t));
}

#define MEMBER(ours, theirs, name)                                                                                  \
    EXPECT(offsetof(ours, name) == offsetof(theirs, name), #theirs "." #name " is at %zu", offsetof(theirs, name)); \
    EXPECT(sizeof(((ours *)0)->name) == sizeof(((theirs *)0)->name), #theirs "." #name " has %zu bytes",            \
           sizeof(((theirs *)0)->name));

static void compare_structures()
{
    EXPECT(sizeof(ws_nvmlMemory) == sizeof(nvmlMemory_t), "nvmlMemory_t has %zu bytes", sizeof(nvmlMemory_t));
    MEMBER(ws_nvmlMemory, nvmlMemory_t, used)
    EXPECT(sizeof(ws_nvmlUtilization) == sizeof(nvmlUtilization_t), "nvmlUtilization_t has %zu bytes",
           sizeof(nvmlUtilization_t));
    MEMBER(ws_nvmlUtilization, nvmlUtilization_t, memory)
    EXPECT(sizeof(ws_nvmlFieldValue) == sizeof(nvmlFieldValue_t), "nvmlFieldValue_t has %zu bytes",
           sizeof(nvmlFieldValue_t));
    MEMBER(ws_nvmlFieldValue, nvmlFieldValue_t, fieldId)
    MEMBER(ws_nvmlFieldValue, nvmlFieldValue_t, scopeId)
    MEMBER(ws_nvmlFieldValue, nvmlFieldValue_t, valueType)
    MEMBER(ws_nvmlFieldValue, nvmlFieldValue_t, nvmlReturn)
    MEMBER(ws_nvmlFieldValue, nvmlFieldValue_t, value)
}

int main()
{
    std::printf("nvml.h, NVML API version %d\n", NVML_API_VERSION);
    compare_values();
    compare_structures();
#define FUNCTION(name, symbol, parameters) comparison<ws_nvmlReturn parameters, decltype(symbol)>::run(#symbol);
    WS_NVML_FUNCTIONS(FUNCTION)
    return summary("nvml.h");
}
