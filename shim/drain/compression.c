#include "shim/drain/compression.h"

#ifdef WALLSHIM_ZSTD

#define ZSTD_STATIC_LINKING_ONLY /* makes zstd.h declare ZSTD_initStaticCCtx, which needs no malloc */
#include <sys/mman.h>
#include <zstd.h>

#include "base/reserve.h"

enum { LEVEL_AT_MOST = 1 }; /* the encoder's default compression level, which the shim does not change */

/* zstd has hooks for tracing, as weak symbols that any library may define. zstd calls the definitions here instead of
 * definitions in the program's libraries. */
__attribute__((visibility("hidden"))) unsigned long long ZSTD_trace_compress_begin(const void *context);
__attribute__((visibility("hidden"))) void ZSTD_trace_compress_end(unsigned long long begun, const void *trace);
__attribute__((visibility("hidden"))) unsigned long long ZSTD_trace_decompress_begin(const void *context);
__attribute__((visibility("hidden"))) void ZSTD_trace_decompress_end(unsigned long long begun, const void *trace);

unsigned long long ZSTD_trace_compress_begin(const void *context)
{
    (void)context;
    return 0; /* 0: zstd is not to trace this compression */
}

void ZSTD_trace_compress_end(unsigned long long begun, const void *trace)
{
    (void)begun;
    (void)trace;
}

unsigned long long ZSTD_trace_decompress_begin(const void *context)
{
    (void)context;
    return 0;
}

void ZSTD_trace_decompress_end(unsigned long long begun, const void *trace)
{
    (void)begun;
    (void)trace;
}

static size_t workspace(void)
{
    return ZSTD_estimateCCtxSize(LEVEL_AT_MOST);
}

static void *create(void)
{
    void *memory = ws_reserve(workspace());
    if (!memory)
        return NULL;
    ZSTD_CCtx *context = ZSTD_initStaticCCtx(memory, workspace());
    if (!context)
        munmap(memory, workspace());
    return context; /* the context is at the start of the memory, so destroy can unmap it */
}

static size_t destroy(void *context)
{
    return context ? (size_t)munmap(context, workspace()) : 0;
}

static size_t compress(void *context, void *to, size_t capacity, const void *from, size_t size, int level)
{
    return ZSTD_compressCCtx(context, to, capacity, from, size, level);
}

struct ws_compressor compression(void)
{
    return (struct ws_compressor){ .compress_bound = ZSTD_compressBound,
                                   .create = create,
                                   .free = destroy,
                                   .compress = compress,
                                   .is_error = ZSTD_isError };
}

#else

struct ws_compressor compression(void)
{
    return (struct ws_compressor){ 0 };
}

#endif
