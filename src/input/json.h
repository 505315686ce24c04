/* Parses JSON piece by piece. Tolerates two common errors: NaN and Infinity become null, and a backslash that starts
 * no valid escape becomes a slash. */
#ifndef WALLSHIM_INPUT_JSON_H
#define WALLSHIM_INPUT_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <yajl/yajl_parse.h>

struct ws_json;

/* callbacks are those of the library yajl. All of them are required except yajl_boolean, yajl_integer and
 * yajl_double, which are never called: yajl_string gets true and false as texts, and yajl_number gets all numbers.
 * Returns NULL when memory runs out. */
struct ws_json *ws_json_create(const yajl_callbacks *callbacks, void *user);

/* Call this function at the start of the array that holds the events of a trace. An item of this array that is not
 * valid JSON is then skipped. on_broken is called for each skipped item. The end callbacks of the item's open maps
 * and arrays are not called. */
void ws_json_pass_over(struct ws_json *json, void (*on_broken)(void *user));

/* Returns the number of bytes of all skipped items. */
uint64_t ws_json_passed(const struct ws_json *json);

/* Returns the address at which the caller puts the next piece of the input. Stores the maximum size of the piece in
 * *size. */
unsigned char *ws_json_room(struct ws_json *json, size_t *size);

/* Parses the piece, which has `size` bytes at the address from ws_json_room. Returns false for invalid JSON or if a
 * callback returned 0. */
bool ws_json_parse(struct ws_json *json, size_t size);

/* Ends the input. Returns true if the JSON is complete. */
bool ws_json_end(struct ws_json *json);

/* After a failure: returns how many bytes of the piece were not parsed. */
size_t ws_json_left(const struct ws_json *json);

/* Frees the parser. Accepts NULL. */
void ws_json_destroy(struct ws_json *json);

#endif
