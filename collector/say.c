#include "collector/say.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/printable.h"

void say(const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    ws_make_printable(text);
    fprintf(stderr, "wallshim-collector: %s\n", text);
}
