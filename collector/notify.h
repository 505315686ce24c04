/* Tells the service manager that started the collector about its state, by the protocol of sd_notify(3). */
#ifndef WALLSHIM_COLLECTOR_NOTIFY_H
#define WALLSHIM_COLLECTOR_NOTIFY_H

/* Sends a text such as "READY=1" to the socket whose path is in the environment variable NOTIFY_SOCKET. Does nothing
 * if this variable is not set. */
void notify(const char *text);

#endif
