/* Answers the requests of `wallshim ctl`: status, start, stop, burst and dump. */
#ifndef WALLSHIM_COLLECTOR_CONTROL_H
#define WALLSHIM_COLLECTOR_CONTROL_H

#include "collector/client.h"

/* Answers the message ASK, which holds one of these requests. Returns 0, -EBADMSG if the command is unknown, or
 * -EPIPE if the answer cannot be sent. */
int control_answer(struct client *asking, const struct ws_channel_message *message);

#endif
