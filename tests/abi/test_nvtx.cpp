/* Compares our declarations of NVTX's binary interface with nvtx3/nvToolsExt.h: values, structures and functions. */
#include <nvtx3/nvToolsExt.h>

#include "src/abi/nvtx.h"
#include "abi.h"

static void compare_values()
{
#define VALUE(name, value) EXPECT((long long)WS_##name == (long long)name, #name " is %lld", (long long)name);
    WS_NVTX_VALUES(VALUE)
}

#define MEMBER(ours, theirs, name)                                                                                  \
    EXPECT(offsetof(ours, name) == offsetof(theirs, name), #theirs "." #name " is at %zu", offsetof(theirs, name)); \
    EXPECT(sizeof(((ours *)0)->name) == sizeof(((theirs *)0)->name), #theirs "." #name " has %zu bytes",            \
           sizeof(((theirs *)0)->name));
#define EVENT(name) MEMBER(ws_nvtxEventAttributes, nvtxEventAttributes_t, name)

static void compare_structures()
{
    EXPECT(sizeof(ws_nvtxEventAttributes) == sizeof(nvtxEventAttributes_t), "nvtxEventAttributes_t has %zu bytes",
           sizeof(nvtxEventAttributes_t));
    EVENT(version)
    EVENT(size)
    EVENT(payloadType)
    EVENT(payload)
    EVENT(payload.uiValue)
    EVENT(payload.iValue)
    EVENT(messageType)
    EVENT(message)
    MEMBER(ws_nvtxExportTableCallbacks, NvtxExportTableCallbacks, struct_size)
    MEMBER(ws_nvtxExportTableCallbacks, NvtxExportTableCallbacks, GetModuleFunctionTable)
}

/* The functions that the shim puts into NVTX's tables (shim/libraries/nvtx.c) have these types. */
static void compare_functions()
{
#define SAME(name, ours) comparison<ours, decltype(name)>::run(#name)
    SAME(nvtxMarkEx, void(const ws_nvtxEventAttributes *));
    SAME(nvtxMarkA, void(const char *));
    SAME(nvtxMarkW, void(const wchar_t *));
    SAME(nvtxRangeStartEx, ws_nvtxRangeId(const ws_nvtxEventAttributes *));
    SAME(nvtxRangeStartA, ws_nvtxRangeId(const char *));
    SAME(nvtxRangeStartW, ws_nvtxRangeId(const wchar_t *));
    SAME(nvtxRangeEnd, void(ws_nvtxRangeId));
    SAME(nvtxRangePushEx, int(const ws_nvtxEventAttributes *));
    SAME(nvtxRangePushA, int(const char *));
    SAME(nvtxRangePushW, int(const wchar_t *));
    SAME(nvtxRangePop, int(void));
    SAME(nvtxDomainMarkEx, void(ws_nvtxDomain, const ws_nvtxEventAttributes *));
    SAME(nvtxDomainRangeStartEx, ws_nvtxRangeId(ws_nvtxDomain, const ws_nvtxEventAttributes *));
    SAME(nvtxDomainRangeEnd, void(ws_nvtxDomain, ws_nvtxRangeId));
    SAME(nvtxDomainRangePushEx, int(ws_nvtxDomain, const ws_nvtxEventAttributes *));
    SAME(nvtxDomainRangePop, int(ws_nvtxDomain));
    SAME(nvtxDomainRegisterStringA, ws_nvtxString(ws_nvtxDomain, const char *));
    SAME(nvtxDomainRegisterStringW, ws_nvtxString(ws_nvtxDomain, const wchar_t *));
    SAME(nvtxDomainCreateA, ws_nvtxDomain(const char *));
    SAME(nvtxDomainCreateW, ws_nvtxDomain(const wchar_t *));
    comparison<std::remove_pointer_t<ws_nvtxGetExportTable>, std::remove_pointer_t<NvtxGetExportTableFunc_t>>::run(
        "NvtxGetExportTableFunc_t");
}

int main()
{
    std::printf("nvToolsExt.h, NVTX %d\n", NVTX_VERSION);
    compare_values();
    compare_structures();
    compare_functions();
    return summary("nvToolsExt.h");
}
