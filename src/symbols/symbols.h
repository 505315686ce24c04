/* Finds the functions and source lines at addresses of a program or shared library. Reads symbol tables and debugging
 * information, also from separate files in /usr/lib/debug. */
#ifndef WALLSHIM_SYMBOLS_SYMBOLS_H
#define WALLSHIM_SYMBOLS_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Why no names are found for a module (a program or shared library). */
enum ws_symbols_lack {
    WS_SYMBOLS_FOUND,      /* the module's file was opened, so names can be found */
    WS_SYMBOLS_NO_FILE,    /* no such file, or it cannot be read */
    WS_SYMBOLS_OTHER_FILE, /* the file has another build id: it was replaced after the recording */
    WS_SYMBOLS_NO_ID,      /* the module has no usable build id, so the file may have been replaced unnoticed */
    WS_SYMBOLS_NOT_BUILT,  /* wallshim was built without elfutils */
};

/* The opened file of a module. */
struct ws_symbols;

/* Opens the module's file if it has this build id, else the file of that build id in /usr/lib/debug. Sets *lack
 * to the reason if it returns NULL. */
struct ws_symbols *ws_symbols_open(const char *path, const void *id, size_t id_size, enum ws_symbols_lack *lack);
void ws_symbols_close(struct ws_symbols *symbols);

/* A function that contains an address. Several functions contain the address of inlined code: the inlined function,
 * and the functions that it was inlined into. */
struct ws_symbol {
    char name[512];      /* the function's demangled name */
    const char *file;    /* source file; NULL: unknown. Valid until ws_symbols_close */
    uint32_t line;       /* line of the address, or of the call of the next inner function; 0: unknown */
    uint32_t first_line; /* line at which the function is declared; 0: unknown */
};

enum { WS_SYMBOLS_INLINED_MOST = 16 };

/* Finds the functions that contain an address, and stores them in found[], innermost first. `offset` is the distance
 * of the address from the lowest address at which the file is loaded. with_lines: also reads debugging information;
 * without it, inlined functions and lines are not found. Returns the number of functions, at most
 * WS_SYMBOLS_INLINED_MOST; 0: no function was found. */
unsigned ws_symbols_at(struct ws_symbols *symbols, uint64_t offset, bool with_lines, struct ws_symbol *found);

#endif
