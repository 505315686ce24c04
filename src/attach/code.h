/* The machine code that `wallshim attach` copies into a process. A stopped thread of the process runs the first part,
 * which creates a new thread. The new thread runs the second part, which loads the shim. Each processor architecture
 * needs a file with its own version of the code, such as code_x86_64.c. */
#ifndef WALLSHIM_ATTACH_CODE_H
#define WALLSHIM_ATTACH_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/late.h"

/* Copies the code to the buffer `page`, which the caller then writes to a page in the process. The stopped thread
 * starts at the first byte of that page. Returns the offset in the page at which the new thread starts; 0: the code
 * does not fit into the page. */
size_t ws_code_copy(uint8_t page[WS_LATE_PAGE]);

/* Can the code save all registers of this processor? For the registers that the instruction XSAVE saves, the code has
 * WS_LATE_STATE bytes. */
bool ws_code_fits(void);

#endif
