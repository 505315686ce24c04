/* Helpers with which analyses write the JSON report. */
#ifndef WALLSHIM_REPORT_JSON_H
#define WALLSHIM_REPORT_JSON_H

#include <jansson.h>
#include <stdint.h>

/* Makes a JSON string. If the text is not valid UTF-8, each byte that is not ASCII becomes '?'. */
json_t *ws_json_text(const char *text);

/* Sets a key to an integer. Returns 0 or -ENOMEM. */
int ws_json_set(json_t *object, const char *key, int64_t value);

/* Makes a JSON number of an amount (FLOPs, bytes): an integer if the amount fits 64 bits, else a real number. */
json_t *ws_json_amount(double value);

/* Sets a key to a real number, or to an amount. A value of 0 or less means "not known": the key is left out. */
int ws_json_set_real(json_t *object, const char *key, double value);
int ws_json_set_amount(json_t *object, const char *key, double value);

#endif
