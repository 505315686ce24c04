/* Makes the names of ranges that the program sets with NVTX: turns texts, registered strings and domains into labels
 * of the trace's dictionary.
 *
 * The program may create domains and register strings at any time, also before the recording starts. The shim never
 * frees a domain or string, because a program that destroys a domain may still use its strings. The number of domains
 * and strings is limited. A handle that the shim gives to the program is a small number, not an address. So a wrong
 * handle from the program does no harm. */
#ifndef WALLSHIM_SHIM_LIBRARIES_NVTX_NAMES_H
#define WALLSHIM_SHIM_LIBRARIES_NVTX_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "abi/nvtx.h"
#include "shim/objects/thread.h"

/* Size of the buffer for a text, in bytes, with the final zero. Longer texts are cut. */
enum { NVTX_TEXT = 256 };

/* Returns the domain of this name: equal names have the same domain. Returns NULL, which is the default domain, if
 * there is no room. */
ws_nvtxDomain nvtx_domain(const char *name);

/* Registers a string in this domain, and returns its handle. Returns NULL if there is no room. */
ws_nvtxString nvtx_string(ws_nvtxDomain domain, const char *text);

/* Returns the domain's number for struct range_open. Returns 0 for the default domain, and for a handle that
 * nvtx_domain did not return. */
uint32_t nvtx_domain_number(ws_nvtxDomain domain);

/* Returns the name of a range. thread: the calling thread. domain: from nvtx_domain_number. The label is
 * "DOMAIN:text"; in the default domain it is the text alone. If the text has a counter ("step 12"), the label
 * contains only the part before the counter. */
struct range_label nvtx_name_of_text(struct shim_thread *thread, uint32_t domain, const char *text);
struct range_label nvtx_name_of_string(ws_nvtxString string);

/* Converts a text of wide characters to UTF-8. to: room for NVTX_TEXT bytes. Returns `to`, or NULL if the text is
 * NULL. */
const char *nvtx_narrow(char *to, const wchar_t *text);

#endif
