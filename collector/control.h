/* What `wallshim ctl` asks for: who records, and starts, stops and bursts in programs. */
#ifndef WALLSHIM_COLLECTOR_CONTROL_H
#define WALLSHIM_COLLECTOR_CONTROL_H

#include "collector/client.h"

/* Answers an ASK. Returns 0, or -EBADMSG if it asks for nothing known, or -EPIPE if it does not read. */
int control_answer(struct client *asking, const struct ws_channel_message *message);

#endif
