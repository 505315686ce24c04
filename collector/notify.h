/* Tells the service manager, if one started the collector, how it stands: the protocol of sd_notify(3). */
#ifndef WALLSHIM_COLLECTOR_NOTIFY_H
#define WALLSHIM_COLLECTOR_NOTIFY_H

/* Sends the text, such as "READY=1", to the socket in NOTIFY_SOCKET. Does nothing if there is none. */
void notify(const char *text);

#endif
