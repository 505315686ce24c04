/* Keeps the ranges of pinned host memory and of managed memory, to distinguish their copies from copies of pageable
 * memory. Also keeps the range of device addresses, to recognize device addresses among the parameters of kernels. */
#ifndef WALLSHIM_SHIM_OBJECTS_MEMORY_H
#define WALLSHIM_SHIM_OBJECTS_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "record/record.h"

void memory_added(uint64_t address, uint64_t bytes, enum ws_space space);
void memory_removed(uint64_t address);

/* The kind of memory at the address: WS_SPACE_PINNED or WS_SPACE_MANAGED if the shim saw it allocated, else
 * WS_SPACE_UNKNOWN. *complete: has the shim kept all ranges that it saw the program allocate? If not, memory of
 * unknown kind may be pinned after all. */
enum ws_space memory_space(uint64_t address, bool *complete);

/* Could this value be a device address? */
bool memory_is_device_address(uint64_t word);

#endif
