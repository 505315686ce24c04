#include "shim/drain/trace_name.h"

#include <stdio.h>
#include <string.h>

static bool append(char *path, size_t capacity, size_t *length, const char *text, bool part)
{
    size_t more = strlen(text);
    if (*length + more >= capacity)
        return false;
    memcpy(path + *length, text, more + 1);
    bool leading = true;
    for (char *at = path + *length; part && *at; at++) {
        leading = leading && *at == '.';
        if (leading || *at == '/' || (*at > 0 && *at < 0x20) || *at == 0x7f)
            *at = '_';
    }
    *length += more;
    return true;
}

bool trace_name_expand(const char *pattern, const struct trace_name_parts *parts, char *path, size_t capacity)
{
    char pid[16];
    size_t length = 0;
    snprintf(pid, sizeof(pid), "%d", parts->pid);
    *path = 0;
    for (const char *at = pattern; *at; at++) {
        char plain[2] = { *at, 0 };
        const char *text = NULL;
        if (*at == '%' && at[1]) {
            at++;
            text = *at == 'n' ? parts->program : *at == 'p' ? pid : *at == 'h' ? parts->host : NULL;
            text = *at == 'r' ? parts->rank : text;
            plain[0] = *at;
        }
        if (!append(path, capacity, &length, text ? text : plain, text != NULL))
            return false;
    }
    return true;
}

bool trace_name_next(const char *path, unsigned attempt, char *next, size_t capacity)
{
    static const char ending[] = ".wst";
    size_t length = strlen(path), tail = sizeof(ending) - 1;
    bool ends = length > tail && !strcmp(path + length - tail, ending);
    int stem = (int)(ends ? length - tail : length);
    int wanted = attempt ? snprintf(next, capacity, "%.*s-%u%s", stem, path, attempt, ends ? ending : "")
                         : snprintf(next, capacity, "%s", path);
    return wanted >= 0 && (size_t)wanted < capacity;
}
