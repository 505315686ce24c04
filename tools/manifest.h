/* What the manifest of a collector says about the traces beside it. */
#ifndef WALLSHIM_TOOLS_MANIFEST_H
#define WALLSHIM_TOOLS_MANIFEST_H

#include <stdbool.h>

#include "model/model.h"

/* Adds to each process whose trace did not come to its end how its connection to the collector ended, in words, as
 * the fact "collector_ended". Returns 0 or -ENOMEM. */
int tool_manifest_apply(struct ws_model *model);

/* Did a collector write into the folder of this trace? */
bool tool_manifest_is_beside(const char *path);

#endif
