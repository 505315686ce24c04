/* Writes manifest.json beside the traces of `wallshim attach --all`, in the format of the collector's manifest
 * (docs/collector.md). The manifest tells which traces were recorded together. */
#ifndef WALLSHIM_TOOLS_ATTACH_MANIFEST_H
#define WALLSHIM_TOOLS_ATTACH_MANIFEST_H

#include "attach_crew.h"

/* Was the manifest in this folder written by another process that still runs? */
bool tool_attach_manifest_is_foreign(const char *folder);

/* Replaces the manifest. Keeps the manifest's rows of earlier recordings into the same folder. Returns 0 or
 * -errno. */
int tool_attach_manifest_write(const struct tool_crew *crew);

void tool_attach_manifest_remove(const char *folder);

#endif
