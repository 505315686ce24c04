/* Reports whether the link between ranks is far slower than this kind of link can be.
 *
 * The measure is the bus bandwidth of the rank's fastest large operation. Bus bandwidth, as nccl-tests define it, is
 * at most the rate at which a GPU can send in one direction. An operation's time may include waits for other ranks,
 * but the fastest operation hardly includes any. If all ranks run on one machine, the limit is the link between its
 * GPUs (hardware/links.h), or PCIe. If ranks run on several machines, the limit is a network card of 400 Gbit/s. The
 * trace may not tell whether there are several machines: host names or ranks may be missing. The limit is then that
 * of the network card too, unless the rank is faster than such a card. If the rank is faster, we assume that its GPU
 * has a direct link to other GPUs.
 *
 * A link that reaches at most a fiftieth of the limit is called slow (our choice). NCCL reaches more than half of a
 * link's bandwidth with messages of some MiB. This threshold is so low because slower networks are common, and
 * because an operation may include unknown waits. */
#ifndef WALLSHIM_ANALYSIS_COMM_SLOW_LINK_H
#define WALLSHIM_ANALYSIS_COMM_SLOW_LINK_H

#include "report/analysis.h"

/* Adds a sentence about the reached bandwidth to the report's section on communication, if the bandwidth is known.
 * The sentence gives the share of the link's limit only if the limit is known too. */
void ws_slow_link_text(const struct ws_report *report, size_t track, struct ws_page *page);

/* Adds advice if the link is slow and its transfers take a large enough part of a step. Returns 0 or -ENOMEM. */
int ws_slow_link_advise(const struct ws_report *report, size_t track, struct ws_advice_list *list);

#endif
