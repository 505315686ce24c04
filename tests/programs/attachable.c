/* A program to which `wallshim attach` cannot attach. It waits until its standard input ends.
 *
 *   attachable seccomp|undumpable   it has a seccomp filter, or other processes may not trace it
 *   attachable_static               it is a static program (built with STATIC), without the driver */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#ifndef STATIC
#include "program.h"
#endif

/* Installs a seccomp filter that allows everything. Another process sees only that there is a filter, not what it
 * allows. */
static int filter(void)
{
    struct sock_filter allow = { BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW };
    struct sock_fprog program = { 1, &allow };
    return prctl(PR_SET_NO_NEW_PRIVS, 1L, 0L, 0L, 0L) || prctl(PR_SET_SECCOMP, (long)SECCOMP_MODE_FILTER, &program);
}

int main(int argc, char **argv)
{
    char byte;
#ifndef STATIC
    int version;
    cuDriverGetVersion(&version);
#endif
    if (argc > 1 && !strcmp(argv[1], "seccomp") && filter())
        return 1;
    if (argc > 1 && !strcmp(argv[1], "undumpable") && prctl(PR_SET_DUMPABLE, 0L))
        return 1;
    if (write(STDOUT_FILENO, "ready\n", 6) != 6)
        return 1;
    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
    return 0;
}
