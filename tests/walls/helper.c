#include "helper.h"

#include <pthread.h>

#include "tests/programs/program.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static void (*told)(void *argument); /* the function to call; NULL: none is to be called, or it has returned */
static void *told_argument;

static void *help(void *context)
{
    MUST(cuCtxSetCurrent(context));
    pthread_mutex_lock(&lock);
    for (;;) {
        while (!told)
            pthread_cond_wait(&changed, &lock);
        pthread_mutex_unlock(&lock);
        told(told_argument);
        pthread_mutex_lock(&lock);
        told = NULL;
        pthread_cond_broadcast(&changed);
    }
    return NULL;
}

void helper_start(ws_CUcontext context)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, help, context))
        exit(1);
    pthread_detach(thread);
}

static void add_wait(void *sum)
{
    long long waited = 0;
    FILE *file = fopen("/proc/thread-self/schedstat", "r");
    if (!file)
        return;
    if (fscanf(file, "%*d %lld", &waited) == 1)
        *(int64_t *)sum += waited;
    fclose(file);
}

int64_t helper_cpu_wait(void)
{
    int64_t sum = 0;
    add_wait(&sum);
    helper_do(add_wait, &sum);
    return sum;
}

void helper_do(void (*work)(void *argument), void *argument)
{
    pthread_mutex_lock(&lock);
    told_argument = argument;
    told = work;
    pthread_cond_broadcast(&changed);
    while (told)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}
