/* Reads what a manifest (manifest.json, written by a collector or by attach --all) says about the traces in its
 * folder. */
#ifndef WALLSHIM_TOOLS_MANIFEST_H
#define WALLSHIM_TOOLS_MANIFEST_H

#include <stdbool.h>

#include "model/model.h"

/* Adds the fact "collector_ended" to each process whose trace lacks its end: a text from the manifest on how the
 * recording ended. Adds the fact "together" to each process that attach --all recorded: a text that is the same for
 * all processes recorded together. Returns 0 or -ENOMEM. */
int tool_manifest_apply(struct ws_model *model);

/* Is there a manifest in the folder of this trace? */
bool tool_manifest_is_beside(const char *path);

#endif
