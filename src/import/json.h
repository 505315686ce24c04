/* JSON in pieces, as programs write it: what are no numbers in JSON, NaN and Infinity, count as null, and a
 * backslash that escapes nothing as a slash. */
#ifndef WALLSHIM_IMPORT_JSON_H
#define WALLSHIM_IMPORT_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <yajl/yajl_parse.h>

struct ws_json;

/* callbacks as yajl's; each one must be there but those for booleans and numbers of a type. NULL when memory
 * is out. */
struct ws_json *ws_json_create(const yajl_callbacks *callbacks, void *user);

/* For the callback of an array's begin: the items of this array are events of a trace, and one that is no JSON is
 * passed over, to where the next begins. on_broken is told, and then gets no ends of what was open in the item. */
void ws_json_pass_over(struct ws_json *json, void (*on_broken)(void *user));

/* Bytes that were passed over so. */
uint64_t ws_json_passed(const struct ws_json *json);

/* Where the next piece is to be put, and how large it may be. */
unsigned char *ws_json_room(struct ws_json *json, size_t *size);

/* Parses the piece of size bytes that was put there. False when it is no JSON, or a callback gave 0. */
bool ws_json_parse(struct ws_json *json, size_t size);

/* There is no more: true when the text is complete. */
bool ws_json_end(struct ws_json *json);

/* After a failure: bytes of the piece that were not taken. */
size_t ws_json_left(const struct ws_json *json);

/* Accepts NULL. */
void ws_json_destroy(struct ws_json *json);

#endif
