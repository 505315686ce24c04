/* The connection to a process that has the shim loaded. A thread of the shim, the control thread, answers the
 * requests. */
#ifndef WALLSHIM_ATTACH_CLIENT_H
#define WALLSHIM_ATTACH_CLIENT_H

#include "attach/process.h"
#include "wire/attach.h"

/* Makes a Unix socket in the process's network namespace. The shim's socket has an abstract name, and a socket finds
 * only the abstract names of its own network namespace. Returns the socket, or -1 with errno. */
int ws_client_socket(const struct ws_process_facts *process);

/* Connects to the shim of the process, even in another network namespace. Returns a socket; -ECONNREFUSED: no shim
 * listens there; -EACCES: another process listens under the shim's name; or -errno. */
int ws_client_connect(const struct ws_process_facts *process);

/* Sends a request and waits for the answer, which replaces the request in *message. `fd` is a descriptor to send
 * with the request, or -1. Returns 0 or -errno. */
int ws_client_ask(int socket, struct ws_attach_message *message, int fd);

#endif
