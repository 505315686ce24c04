/* zstd compresses traces. It is linked into the shim, so that it neither needs a library that may be missing nor
 * loads one by a name that the program's own libraries use. */
#ifndef WALLSHIM_SHIM_DRAIN_COMPRESSION_H
#define WALLSHIM_SHIM_DRAIN_COMPRESSION_H

#include "wire/encoder.h"

/* No functions where the build found no zstd: frames are stored as they are. */
struct ws_compressor compression(void);

#endif
