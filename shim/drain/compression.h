/* Compression of traces, by zstd. zstd is linked statically into the shim. So the shim needs no shared library that
 * may be missing, and loads no libzstd that the program's own libraries would then use. */
#ifndef WALLSHIM_SHIM_DRAIN_COMPRESSION_H
#define WALLSHIM_SHIM_DRAIN_COMPRESSION_H

#include "wire/encoder.h"

/* Returns the functions that compress with zstd. If the build found no zstd, all members are NULL, and frames are
 * stored uncompressed. */
struct ws_compressor compression(void);

#endif
