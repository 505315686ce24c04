#include "input/ahead.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>

enum { PIECES = 4 };

/* The thread fills pieces in turn. The reader uses the piece that it got last. The other pieces hold the data after
 * that piece. */
struct ws_ahead {
    void (*fill)(void *user, struct ws_ahead_piece *piece);
    void *user;
    pthread_t thread;
    pthread_mutex_t lock; /* protects `filled`, `given` and `stop` */
    pthread_cond_t changed;
    uint64_t filled, given; /* number of pieces filled, and number given to the reader */
    bool stop;
    struct ws_ahead_piece pieces[PIECES];
};

/* Waits until a piece can be filled; returns NULL when the thread has to end. */
static struct ws_ahead_piece *piece_to_fill(struct ws_ahead *ahead)
{
    pthread_mutex_lock(&ahead->lock);
    while (!ahead->stop && ahead->filled + 1 >= ahead->given + PIECES)
        pthread_cond_wait(&ahead->changed, &ahead->lock);
    bool stop = ahead->stop;
    pthread_mutex_unlock(&ahead->lock);
    return stop ? NULL : &ahead->pieces[ahead->filled % PIECES];
}

static void *fill_pieces(void *user)
{
    struct ws_ahead *ahead = user;
    struct ws_ahead_piece *piece;
    while ((piece = piece_to_fill(ahead))) {
        ahead->fill(ahead->user, piece);
        bool last = piece->size <= 0;
        pthread_mutex_lock(&ahead->lock);
        ahead->filled++;
        pthread_cond_signal(&ahead->changed);
        pthread_mutex_unlock(&ahead->lock);
        if (last)
            break;
    }
    return NULL;
}

/* Starts the thread with all signals blocked: another thread of the command handles Ctrl-C. */
static int start_thread(struct ws_ahead *ahead)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int status = pthread_create(&ahead->thread, NULL, fill_pieces, ahead);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return status;
}

struct ws_ahead *ws_ahead_start(void (*fill)(void *user, struct ws_ahead_piece *piece), void *user)
{
    struct ws_ahead *ahead = malloc(sizeof(*ahead));
    if (!ahead)
        return NULL;
    ahead->fill = fill;
    ahead->user = user;
    ahead->filled = ahead->given = 0;
    ahead->stop = false;
    pthread_mutex_init(&ahead->lock, NULL);
    pthread_cond_init(&ahead->changed, NULL);
    if (!start_thread(ahead))
        return ahead;
    pthread_cond_destroy(&ahead->changed);
    pthread_mutex_destroy(&ahead->lock);
    free(ahead);
    return NULL;
}

const struct ws_ahead_piece *ws_ahead_next(struct ws_ahead *ahead)
{
    if (ahead->given && ahead->pieces[(ahead->given - 1) % PIECES].size <= 0)
        return &ahead->pieces[(ahead->given - 1) % PIECES];
    pthread_mutex_lock(&ahead->lock);
    while (ahead->given == ahead->filled)
        pthread_cond_wait(&ahead->changed, &ahead->lock);
    const struct ws_ahead_piece *piece = &ahead->pieces[ahead->given++ % PIECES];
    pthread_cond_signal(&ahead->changed);
    pthread_mutex_unlock(&ahead->lock);
    return piece;
}

void ws_ahead_stop(struct ws_ahead *ahead)
{
    if (!ahead)
        return;
    pthread_mutex_lock(&ahead->lock);
    ahead->stop = true;
    pthread_cond_signal(&ahead->changed);
    pthread_mutex_unlock(&ahead->lock);
    pthread_join(ahead->thread, NULL);
    pthread_cond_destroy(&ahead->changed);
    pthread_mutex_destroy(&ahead->lock);
    free(ahead);
}
