/* Asks recorded processes for their progress: for which GPU operations they wait, and in which CUDA or NCCL calls
 * their threads are (wire/progress.h). Before a process answers, its shim (the library that records it) reads which
 * operations have ended and sends their records. */
#ifndef WALLSHIM_COLLECTOR_ASK_H
#define WALLSHIM_COLLECTOR_ASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct client;
struct clients;
struct job;

/* Asks all processes of the job for their progress. */
void ask_job(struct clients *clients, const struct job *job);

/* Asks two groups of processes for their progress: those that were never asked, and those that have answered their
 * last question and were last asked at least `every_ms` ago. */
void ask_due(struct clients *clients, uint64_t every_ms);

/* Has every connected process of the job answered its last question? */
bool ask_answered(const struct job *job);

/* Stores a process's answer. Returns false if the answer is malformed, or if the process was never asked. */
bool ask_take(struct client *client, uint64_t number, const uint8_t *bytes, size_t size);

#endif
