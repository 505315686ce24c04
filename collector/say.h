/* Messages of the collector on stderr. */
#ifndef WALLSHIM_COLLECTOR_SAY_H
#define WALLSHIM_COLLECTOR_SAY_H

/* Prints a line that begins with "wallshim-collector: ". Characters that are not printable become '?'. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
