/* Writes one line to stderr, with "simgpu: " before it. */
#ifndef SIMGPU_LOG_H
#define SIMGPU_LOG_H

void sim_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
