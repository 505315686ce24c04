/* Host memory the driver knows, so that a copy can be said to be from pinned or pageable memory, and
 * the range device addresses lie in, so that they can be told from other parameters. */
#ifndef WALLSHIM_SHIM_MEMORY_H
#define WALLSHIM_SHIM_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "record/record.h"

void memory_added(uint64_t address, uint64_t bytes, enum ws_space space);
void memory_removed(uint64_t address);

/* PINNED, MANAGED or DEVICE where we saw it allocated; UNKNOWN otherwise. *complete says whether every
 * range of host memory that we saw is still known. */
enum ws_space memory_space(uint64_t address, bool *complete);

/* Could this word be a device address? */
bool memory_is_device_address(uint64_t word);

#endif
