/* State of a thread and of the process that CUDA calls must not change. Also programs that change or remove things
 * that the shim may need: the environment, the current folder, the arguments, the standard files. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <locale.h>
#include <sys/stat.h>

#include "program.h"

extern char **environ;

static struct gpu gpu;

/* Prints errno after calls that succeed and calls that fail. */
static void show_errno(void)
{
    errno = 1234;
    spin(gpu.spin, gpu.stream, 1000);
    dprintf(STDOUT_FILENO, "errno after a launch: %d\n", errno);
    errno = 1234;
    spin(NULL, gpu.stream, 1000);
    dprintf(STDOUT_FILENO, "errno after a refused launch: %d\n", errno);
    errno = 1234;
    cuStreamSynchronize(gpu.stream);
    dprintf(STDOUT_FILENO, "errno after synchronising: %d\n", errno);
    void *function;
    errno = 1234;
    cuGetProcAddress_v2("cuLaunchKernel", &function, 12000, 0, NULL);
    dprintf(STDOUT_FILENO, "errno after a look-up: %d\n", errno);
}

/* CUDA calls between dlsym and dlerror must not change the error of dlsym. */
static void show_dlerror(void)
{
    dlsym(RTLD_DEFAULT, "nobody_at_all");
    spin(gpu.spin, gpu.stream, 1000);
    dprintf(STDOUT_FILENO, "dlerror: %s\n", dlerror());
    dlerror();
    dlsym(RTLD_DEFAULT, "cuLaunchKernel");
    spin(gpu.spin, gpu.stream, 1000);
    char *error = dlerror();
    dprintf(STDOUT_FILENO, "dlerror of nothing wrong: %s\n", error ? error : "none");
}

static void show_floating_point(void)
{
    fesetround(FE_UPWARD);
    feclearexcept(FE_ALL_EXCEPT);
    for (int i = 0; i < 200; i++)
        spin(gpu.spin, gpu.stream, 1000);
    dprintf(STDOUT_FILENO, "rounding kept: %d, exceptions: %d\n", fegetround() == FE_UPWARD,
            fetestexcept(FE_ALL_EXCEPT));
    fesetround(FE_TONEAREST);
}

static void show_process(void)
{
    char folder[64];
    mode_t mask = umask(0027);
    umask(mask);
    dprintf(STDOUT_FILENO, "umask %03o, locale %s, folder %s\n", (unsigned)mask, setlocale(LC_ALL, NULL),
            getcwd(folder, sizeof(folder)) ? folder : "gone");
    for (char **variable = environ; *variable; variable++) {
        if (strncmp(*variable, "LD_PRELOAD=", 11) && strncmp(*variable, "WALLSHIM_", 9))
            dprintf(STDOUT_FILENO, "%s\n", *variable);
    }
}

int main(int argc, char **argv)
{
    const char *mode = mode_of(argc, argv);
    if (!strcmp(mode, "kept")) {
        gpu_open(&gpu, 0);
        show_errno();
        show_dlerror();
        show_floating_point();
        show_process();
    } else if (!strcmp(mode, "no-environment")) {
        clearenv();
        gpu_open(&gpu, 0);
        dprintf(STDOUT_FILENO, "refused: %d\n", spin_times(&gpu, 100, 2000));
        TRY(cuStreamSynchronize(gpu.stream));
        execle("/usr/bin/env", "env", (char *)NULL, (char *[]){ NULL });
    } else if (!strcmp(mode, "folder-gone")) {
        if (mkdir("gone", 0700) || chdir("gone") || rmdir("../gone"))
            return 1;
        gpu_open(&gpu, 0);
        dprintf(STDOUT_FILENO, "refused: %d\n", spin_times(&gpu, 100, 2000));
        TRY(cuStreamSynchronize(gpu.stream));
    } else if (!strcmp(mode, "folder-changed")) {
        gpu_open(&gpu, 0);
        if (mkdir("elsewhere", 0700) || chdir("elsewhere"))
            return 1;
        umask(0777);
        dprintf(STDOUT_FILENO, "refused: %d\n", spin_times(&gpu, 100, 2000));
        TRY(cuStreamSynchronize(gpu.stream));
    } else if (!strcmp(mode, "title")) {
        /* Writes a process title over the program's arguments, as servers do. */
        memset(argv[0], ' ', strlen(argv[0]));
        memcpy(argv[0], "/a/b/c", strlen("/a/b/c"));
        program_invocation_short_name = argv[0];
        gpu_open(&gpu, 0);
        dprintf(STDOUT_FILENO, "refused: %d\n", spin_times(&gpu, 100, 2000));
        TRY(cuStreamSynchronize(gpu.stream));
    } else if (!strcmp(mode, "closed")) {
        /* Closes the standard files. Files that are opened later get their descriptor numbers. The shim must write
         * nothing into a file that the program opens. */
        close(STDIN_FILENO);
        close(STDOUT_FILENO);
        close(STDERR_FILENO);
        gpu_open(&gpu, 0);
        int refused = spin_times(&gpu, 500, 2000);
        FILE *file = fopen("own.txt", "w");
        if (!file)
            return 1;
        fprintf(file, "refused: %d\n", refused);
        for (int i = 0; i < 20; i++) {
            spin_times(&gpu, 100, 2000);
            usleep(20000);
        }
        fprintf(file, "synchronised: %d\n", cuStreamSynchronize(gpu.stream));
        fclose(file);
    } else {
        return unknown_mode(mode);
    }
    return 0;
}
