/* Writes an input of rows (rows.h) as trace files, one per process, for the targets that read whole traces. */
#ifndef WALLSHIM_TESTS_FUZZ_ROWS_JOB_H
#define WALLSHIM_TESTS_FUZZ_ROWS_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ROWS_JOB_PROCESSES = 4, ROWS_JOB_NAME = 64 };

struct rows_job {
    char paths[ROWS_JOB_PROCESSES][ROWS_JOB_NAME];
    const char *names[ROWS_JOB_PROCESSES]; /* the first `count` elements point to paths[0], paths[1] … */
    size_t count;
};

/* Aborts if a file cannot be written. The fuzzer then reports the input. */
void rows_job_write(struct rows_job *job, const uint8_t *data, size_t size);

/* Removes the files. */
void rows_job_remove(const struct rows_job *job);

/* Aborts, and prints the condition's text, if the condition does not hold. The fuzzer then reports the input. */
#define ROWS_MUST(holds) rows_must(holds, #holds)

void rows_must(bool holds, const char *what);

#endif
