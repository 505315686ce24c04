/* Host memory that the driver knows, to tell pinned from pageable memory; and the range of device addresses, to tell
 * them from other parameters. */
#ifndef WALLSHIM_SHIM_OBJECTS_MEMORY_H
#define WALLSHIM_SHIM_OBJECTS_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "record/record.h"

void memory_added(uint64_t address, uint64_t bytes, enum ws_space space);
void memory_removed(uint64_t address);

/* PINNED, MANAGED or DEVICE where we saw it allocated; UNKNOWN otherwise. *complete: are all ranges of host memory
 * that we saw still known? */
enum ws_space memory_space(uint64_t address, bool *complete);

/* Could this word be a device address? */
bool memory_is_device_address(uint64_t word);

#endif
