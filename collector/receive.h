/* Messages that come over a socket, and the descriptor of a process's live memory that comes with HELLO. */
#ifndef WALLSHIM_COLLECTOR_RECEIVE_H
#define WALLSHIM_COLLECTOR_RECEIVE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* As recv, without waiting. `memory`: takes the descriptor, if it is -1 and that can be read safely; NULL: none is
 * wanted. */
ssize_t receive_message(int fd, uint8_t *bytes, size_t size, int *memory);

#endif
