/* unfit PID: attaches to a process as on a processor whose registers do not fit into the block (wire/late.h). Prints
 * the reason why that fails, and returns 2 if it fails. */
#include <stdio.h>
#include <stdlib.h>

#include "attach/code.h"
#include "attach/inject.h"

/* The linker puts this function in the place of ws_code_fits. */
bool __wrap_ws_code_fits(void); // NOLINT(bugprone-reserved-identifier)
bool __wrap_ws_code_fits(void)  // NOLINT(bugprone-reserved-identifier)
{
    return false;
}

int main(int argc, char **argv)
{
    static struct ws_process_facts process;
    static struct ws_injection injection;
    if (argc < 2 || ws_process_look(atoi(argv[1]), &process))
        return 1;
    injection.process = &process;
    if (!ws_inject(&injection))
        return 0;
    puts(injection.why);
    return 2;
}
