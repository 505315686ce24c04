/* Is the link between ranks far slower than it can be?
 *
 * The measure is the fastest large operation of the rank: bus bandwidth as nccl-tests define it, which is at most
 * what a GPU can send in one direction. An operation's time may hold waits for other ranks, but hardly that of the
 * fastest. If all ranks run on one machine, the limit is the link between its GPUs (hardware/links.h), or PCIe.
 * Otherwise it is a network card of 400 Gbit/s. Where the trace does not say where ranks run, a rank that is faster
 * than such a card has a link.
 *
 * Less than a fiftieth of the limit is called slow. That is our choice: NCCL reaches more than half of a link with
 * messages of some MiB, slower networks are common, and an operation may hold waits that are not known. */
#ifndef WALLSHIM_ANALYSIS_COMM_SLOW_LINK_H
#define WALLSHIM_ANALYSIS_COMM_SLOW_LINK_H

#include "report/analysis.h"

/* Adds a line about the link to the section on communication, if the limit and the bandwidth are known. */
void ws_slow_link_text(const struct ws_report *report, size_t track, struct ws_page *page);

/* Advises to find out why the link is slow, if it is, and if its transfers are a part of a step worth the work.
 * Returns 0 or -ENOMEM. */
int ws_slow_link_advise(const struct ws_report *report, size_t track, struct ws_advice_list *list);

#endif
