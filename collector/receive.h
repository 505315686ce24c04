/* Receives messages from a socket, and the descriptor of a process's live memory that comes with HELLO. */
#ifndef WALLSHIM_COLLECTOR_RECEIVE_H
#define WALLSHIM_COLLECTOR_RECEIVE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Receives one message. Like recv, but does not wait. Stores a descriptor that comes with the message in *memory, if
 * *memory is -1 and the descriptor can be read safely. Closes any other descriptor. `memory` may be NULL. */
ssize_t receive_message(int fd, uint8_t *bytes, size_t size, int *memory);

#endif
