/* Stands in for NVTX's header if the CUDA toolkit is not installed: the few functions that marking.c calls, and the
 * protocol by which NVTX loads a tool. Written from the documentation of NVTX 3. If there is a toolkit, marking.c is
 * also built with the toolkit's header. */
#ifndef WALLSHIM_TESTS_NVTX_LOADER_H
#define WALLSHIM_TESTS_NVTX_LOADER_H

#include <dlfcn.h>
#include <stdlib.h>
#include <wchar.h>

#include "abi/nvtx.h"

#ifndef NVTX_ENTRY
#define NVTX_ENTRY "InitializeInjectionNvtx2"
#endif

typedef ws_nvtxEventAttributes nvtxEventAttributes_t;
typedef ws_nvtxDomain nvtxDomainHandle_t;
typedef ws_nvtxString nvtxStringHandle_t;
typedef ws_nvtxRangeId nvtxRangeId_t;

enum {
    NVTX_VERSION = 3,
    NVTX_MESSAGE_TYPE_ASCII = WS_NVTX_MESSAGE_TYPE_ASCII,
    NVTX_MESSAGE_TYPE_REGISTERED = WS_NVTX_MESSAGE_TYPE_REGISTERED,
    NVTX_PAYLOAD_TYPE_INT32 = WS_NVTX_PAYLOAD_TYPE_INT32,
};
#define NVTX_EVENT_ATTRIB_STRUCT_SIZE ((uint16_t)sizeof(nvtxEventAttributes_t))

/* F(result, name, parameters, arguments, module, number, without): `without` is what the function returns if no tool
 * is loaded. */
#define NVTX_FUNCTIONS(F)                                                                                           \
    F(int, nvtxRangePushA, (const char *text), (text), CORE, WS_NVTX_CBID_CORE_RangePushA, -2)                      \
    F(int, nvtxRangePushW, (const wchar_t *text), (text), CORE, WS_NVTX_CBID_CORE_RangePushW, -2)                   \
    F(int, nvtxRangePushEx, (const nvtxEventAttributes_t *event), (event), CORE, WS_NVTX_CBID_CORE_RangePushEx, -2) \
    F(int, nvtxRangePop, (void), (), CORE, WS_NVTX_CBID_CORE_RangePop, -2)                                          \
    F(nvtxRangeId_t, nvtxRangeStartA, (const char *text), (text), CORE, WS_NVTX_CBID_CORE_RangeStartA, 0)           \
    F(int, nvtxDomainRangePushEx, (nvtxDomainHandle_t domain, const nvtxEventAttributes_t *event), (domain, event), \
      CORE2, WS_NVTX_CBID_CORE2_DomainRangePushEx, -2)                                                              \
    F(int, nvtxDomainRangePop, (nvtxDomainHandle_t domain), (domain), CORE2, WS_NVTX_CBID_CORE2_DomainRangePop, -2) \
    F(nvtxStringHandle_t, nvtxDomainRegisterStringA, (nvtxDomainHandle_t domain, const char *text), (domain, text), \
      CORE2, WS_NVTX_CBID_CORE2_DomainRegisterStringA, NULL)                                                        \
    F(nvtxDomainHandle_t, nvtxDomainCreateA, (const char *name), (name), CORE2, WS_NVTX_CBID_CORE2_DomainCreateA,   \
      NULL)
#define NVTX_PROCEDURES(F)                                                  \
    F(nvtxMarkA, (const char *text), (text), CORE, WS_NVTX_CBID_CORE_MarkA) \
    F(nvtxRangeEnd, (nvtxRangeId_t id), (id), CORE, WS_NVTX_CBID_CORE_RangeEnd)

static ws_nvtxFunction nvtx_implementation[2][16];
static ws_nvtxFunction *nvtx_table[2][17]; /* with a NULL after the last function, as in NVTX */
enum { CORE, CORE2 };

static int nvtx_module(int module, ws_nvtxFunction ***table, unsigned *size)
{
    int which = module == WS_NVTX_CB_MODULE_CORE2;
    if (module != WS_NVTX_CB_MODULE_CORE && !which)
        return 0;
    *size = 16;
    *table = nvtx_table[which];
    return 1;
}

static const void *nvtx_export(uint32_t id)
{
    static const ws_nvtxExportTableCallbacks callbacks = { sizeof(callbacks), nvtx_module };
    return id == WS_NVTX_ETID_CALLBACKS ? &callbacks : NULL;
}

static void nvtx_load(void)
{
    static int loaded;
    const char *path = getenv("NVTX_INJECTION64_PATH");
    if (loaded++ || !path)
        return;
    for (int i = 0; i < 32; i++)
        if (i % 16)
            nvtx_table[i / 16][i % 16] = &nvtx_implementation[i / 16][i % 16];
    void *library = dlopen(path, RTLD_LAZY);
    int (*initialise)(ws_nvtxGetExportTable) =
        library ? (int (*)(ws_nvtxGetExportTable))dlsym(library, NVTX_ENTRY) : NULL;
    if (initialise && !initialise(nvtx_export))
        dlclose(library);
}

#define NVTX_FUNCTION(result, name, parameters, arguments, module, number, without)               \
    static inline result name parameters                                                          \
    {                                                                                             \
        nvtx_load();                                                                              \
        result(*function) parameters = (result(*) parameters)nvtx_implementation[module][number]; \
        return function ? function arguments : without;                                           \
    }
NVTX_FUNCTIONS(NVTX_FUNCTION)
#undef NVTX_FUNCTION
#define NVTX_PROCEDURE(name, parameters, arguments, module, number)                           \
    static inline void name parameters                                                        \
    {                                                                                         \
        nvtx_load();                                                                          \
        void(*function) parameters = (void(*) parameters)nvtx_implementation[module][number]; \
        if (function)                                                                         \
            function arguments;                                                               \
    }
NVTX_PROCEDURES(NVTX_PROCEDURE)
#undef NVTX_PROCEDURE

#endif
