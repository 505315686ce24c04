/* What compresses a trace: zstd, linked into the shim, so that it neither depends on a library that may be missing
 * nor loads one under a name that the program's own libraries are found by. */
#ifndef WALLSHIM_SHIM_COMPRESSION_H
#define WALLSHIM_SHIM_COMPRESSION_H

#include "wire/encoder.h"

/* No functions at all where the build found no zstd to link: frames are then stored as they are. */
struct ws_compressor compression(void);

#endif
