/* A library of a program, in a folder that the loader searches only because of the program's RUNPATH. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void probe_look_up(void);
const char *cuEventElapsedTime(void);
int probe_number(void);

/* This library's own function, which has the name of a driver function. */
const char *cuEventElapsedTime(void)
{
    return "the probe's own";
}

int probe_number(void)
{
    return 41;
}

void probe_look_up(void)
{
    static const char *const names[] = { "cuInit", "cuNobody", "probe_number", "strlen" };
    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        for (int time = 0; time < 2; time++) {
            void *next = dlsym(RTLD_NEXT, names[i]);
            void *found = dlsym(RTLD_DEFAULT, names[i]);
            dprintf(STDOUT_FILENO, "%s: next %s, default %s, own %s\n", names[i], next ? "found" : "NULL",
                    found ? "found" : "NULL", next == (void *)probe_number ? "yes" : "no");
        }
    }
}
