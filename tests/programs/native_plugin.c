/* A library that native_stacks.c loads and unloads. It is built twice, as two plugins with different NAME and
 * SIZE. */
#include <string.h>

#include "native_stacks.h"

void NAME(void (*call)(void));
void plugin_call(void (*call)(void));

NOT_INLINED void NAME(void (*call)(void))
{
    volatile char memory[SIZE];
    MARK;
    memory[0] = 0;
    AT(call());
    UNMARK;
}

NOT_INLINED void plugin_call(void (*call)(void))
{
    MARK;
    AT(NAME(call));
    UNMARK;
}
