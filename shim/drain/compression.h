/* Compression of traces, by zstd. It is linked into the shim statically: so the shim neither needs a library that may
 * be missing, nor loads one under a name that the program's own libraries use. */
#ifndef WALLSHIM_SHIM_DRAIN_COMPRESSION_H
#define WALLSHIM_SHIM_DRAIN_COMPRESSION_H

#include "wire/encoder.h"

/* All members are NULL where the build found no zstd: frames are then stored as they are. */
struct ws_compressor compression(void);

#endif
