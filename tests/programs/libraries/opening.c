/* A library whose constructor takes long, inside dlopen and with the loader's lock held. If built with SLOW, the
 * constructor sleeps. Otherwise it starts a thread that makes its first CUDA calls, and waits for this thread. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

extern int pthread_timedjoin_np(pthread_t thread, void **answer, const struct timespec *deadline);

#ifdef SLOW
__attribute__((constructor)) static void nap(void)
{
    sleep(4);
}
#else
static void (*launch_while_opening)(void); /* a function of the program */

static void *launch(void *unused)
{
    launch_while_opening();
    return unused;
}

__attribute__((constructor)) static void wait_for_thread(void)
{
    pthread_t thread;
    struct timespec deadline;
    launch_while_opening = (void (*)(void))dlsym(RTLD_DEFAULT, "launch_while_opening");
    clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_sec += 20;
    int status = pthread_create(&thread, NULL, launch, NULL);
    dprintf(STDOUT_FILENO, "join in the constructor: %d\n",
            status ? status : pthread_timedjoin_np(thread, NULL, &deadline));
}
#endif
