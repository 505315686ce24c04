/* The part of NVTX's binary interface that wallshim uses: the "injection", by which a tool receives a program's NVTX
 * calls, and the structures that the program passes. See abi/cuda.h for the conventions.
 *
 * In a program, NVTX is a header (version 3) or a library (libnvToolsExt, versions 1 and 2). At the program's first
 * NVTX call, NVTX loads the library whose path is in the environment variable NVTX_INJECTION64_PATH. NVTX then calls
 * InitializeInjectionNvtx2 or InitializeInjectionNvtx in that library. The tool gets each NVTX module's table of
 * functions and puts its own functions into the table.
 *
 * Source: nvToolsExt.h and nvtxDetail/nvtxTypes.h of NVTX 3, in CUDA 13.0. */
#ifndef WALLSHIM_ABI_NVTX_H
#define WALLSHIM_ABI_NVTX_H

#include <stddef.h>
#include <stdint.h>

#define WS_NVTX_VALUES(X)                        \
    X(NVTX_ETID_CALLBACKS, 1)                    \
    X(NVTX_CB_MODULE_CORE, 1)                    \
    X(NVTX_CB_MODULE_CORE2, 5)                   \
    X(NVTX_NO_PUSH_POP_TRACKING, -2)             \
    X(NVTX_MESSAGE_TYPE_ASCII, 1)                \
    X(NVTX_MESSAGE_TYPE_UNICODE, 2)              \
    X(NVTX_MESSAGE_TYPE_REGISTERED, 3)           \
    X(NVTX_PAYLOAD_TYPE_UNSIGNED_INT64, 1)       \
    X(NVTX_PAYLOAD_TYPE_INT64, 2)                \
    X(NVTX_PAYLOAD_TYPE_UNSIGNED_INT32, 4)       \
    X(NVTX_PAYLOAD_TYPE_INT32, 5)                \
    X(NVTX_CBID_CORE_MarkEx, 1)                  \
    X(NVTX_CBID_CORE_MarkA, 2)                   \
    X(NVTX_CBID_CORE_MarkW, 3)                   \
    X(NVTX_CBID_CORE_RangeStartEx, 4)            \
    X(NVTX_CBID_CORE_RangeStartA, 5)             \
    X(NVTX_CBID_CORE_RangeStartW, 6)             \
    X(NVTX_CBID_CORE_RangeEnd, 7)                \
    X(NVTX_CBID_CORE_RangePushEx, 8)             \
    X(NVTX_CBID_CORE_RangePushA, 9)              \
    X(NVTX_CBID_CORE_RangePushW, 10)             \
    X(NVTX_CBID_CORE_RangePop, 11)               \
    X(NVTX_CBID_CORE2_DomainMarkEx, 1)           \
    X(NVTX_CBID_CORE2_DomainRangeStartEx, 2)     \
    X(NVTX_CBID_CORE2_DomainRangeEnd, 3)         \
    X(NVTX_CBID_CORE2_DomainRangePushEx, 4)      \
    X(NVTX_CBID_CORE2_DomainRangePop, 5)         \
    X(NVTX_CBID_CORE2_DomainRegisterStringA, 10) \
    X(NVTX_CBID_CORE2_DomainRegisterStringW, 11) \
    X(NVTX_CBID_CORE2_DomainCreateA, 12)         \
    X(NVTX_CBID_CORE2_DomainCreateW, 13)

enum {
#define X(name, value) WS_##name = (value),
    WS_NVTX_VALUES(X)
#undef X
};

typedef struct ws_nvtxDomain_st *ws_nvtxDomain; /* NULL: the default domain */
typedef struct ws_nvtxString_st *ws_nvtxString; /* a registered string */
typedef uint64_t ws_nvtxRangeId;

/* Attributes of a mark or a range. Programs that were built with other versions of NVTX pass structures of other
 * sizes. */
typedef struct {
    uint16_t version;
    uint16_t size; /* size of the structure in bytes */
    uint32_t category;
    int32_t colorType;
    uint32_t color;
    int32_t payloadType;
    int32_t reserved0;
    union {
        uint64_t ullValue;
        int64_t llValue;
        double dValue;
        uint32_t uiValue;
        int32_t iValue;
        float fValue;
    } payload;
    int32_t messageType;
    union {
        const char *ascii;
        const wchar_t *unicode;
        ws_nvtxString registered;
    } message;
} ws_nvtxEventAttributes;

typedef void (*ws_nvtxFunction)(void); /* a pointer to a function of any type */

typedef struct {
    size_t struct_size;
    /* Sets *table to an array with an NVTX_CBID as index. Each element is the address of a function pointer. */
    int (*GetModuleFunctionTable)(int module, ws_nvtxFunction ***table, unsigned *size);
} ws_nvtxExportTableCallbacks;

typedef const void *(*ws_nvtxGetExportTable)(uint32_t id);

#endif
