#include "input/ahead.h"

#include <pthread.h>
#include <signal.h>
#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>

enum { PIECES = 4 };

/* A helper thread fills the pieces in turn. The reader (the thread that calls ws_ahead_next) uses the piece that it
 * got last. Meanwhile the helper thread fills the other pieces with the data that follow. */
struct ws_ahead {
    bool (*fill)(void *user, void *piece);
    void *user;
    pthread_t thread;
    pthread_mutex_t lock; /* protects `filled`, `given`, `ended` and `stop` */
    pthread_cond_t changed;
    uint64_t filled, given; /* number of pieces filled, and number given to the reader */
    bool ended;             /* the last piece is filled */
    bool stop;
    size_t piece_size;
    alignas(max_align_t) unsigned char pieces[];
};

static void *piece_at(struct ws_ahead *ahead, uint64_t number)
{
    return ahead->pieces + number % PIECES * ahead->piece_size;
}

/* Waits until the reader no longer uses a piece, and returns this piece to be filled. Returns NULL when ws_ahead_stop
 * was called, because the helper thread then has to end. */
static void *piece_to_fill(struct ws_ahead *ahead)
{
    pthread_mutex_lock(&ahead->lock);
    while (!ahead->stop && ahead->filled + 1 >= ahead->given + PIECES)
        pthread_cond_wait(&ahead->changed, &ahead->lock);
    bool stop = ahead->stop;
    pthread_mutex_unlock(&ahead->lock);
    return stop ? NULL : piece_at(ahead, ahead->filled);
}

static void *fill_pieces(void *user)
{
    struct ws_ahead *ahead = user;
    void *piece;
    bool last = false;
    while (!last && (piece = piece_to_fill(ahead))) {
        last = !ahead->fill(ahead->user, piece);
        pthread_mutex_lock(&ahead->lock);
        ahead->filled++;
        ahead->ended = last;
        pthread_cond_signal(&ahead->changed);
        pthread_mutex_unlock(&ahead->lock);
    }
    return NULL;
}

/* Starts the helper thread with all signals blocked, so that another thread of the program handles Ctrl-C. */
static int start_thread(struct ws_ahead *ahead)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int status = pthread_create(&ahead->thread, NULL, fill_pieces, ahead);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return status;
}

struct ws_ahead *ws_ahead_start(size_t piece_size, bool (*fill)(void *user, void *piece), void *user)
{
    enum { ALIGNMENT = alignof(max_align_t) };
    piece_size = (piece_size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    struct ws_ahead *ahead = calloc(1, sizeof(*ahead) + PIECES * piece_size);
    if (!ahead)
        return NULL;
    ahead->fill = fill;
    ahead->user = user;
    ahead->piece_size = piece_size;
    pthread_mutex_init(&ahead->lock, NULL);
    pthread_cond_init(&ahead->changed, NULL);
    if (!start_thread(ahead))
        return ahead;
    pthread_cond_destroy(&ahead->changed);
    pthread_mutex_destroy(&ahead->lock);
    free(ahead);
    return NULL;
}

const void *ws_ahead_next(struct ws_ahead *ahead)
{
    pthread_mutex_lock(&ahead->lock);
    while (ahead->given == ahead->filled && !ahead->ended)
        pthread_cond_wait(&ahead->changed, &ahead->lock);
    if (ahead->given < ahead->filled)
        ahead->given++;
    const void *piece = piece_at(ahead, ahead->given - 1);
    pthread_cond_signal(&ahead->changed);
    pthread_mutex_unlock(&ahead->lock);
    return piece;
}

void ws_ahead_stop(struct ws_ahead *ahead, void (*finish)(void *piece))
{
    if (!ahead)
        return;
    pthread_mutex_lock(&ahead->lock);
    ahead->stop = true;
    pthread_cond_signal(&ahead->changed);
    pthread_mutex_unlock(&ahead->lock);
    pthread_join(ahead->thread, NULL);
    for (uint64_t i = 0; finish && i < PIECES; i++)
        finish(piece_at(ahead, i));
    pthread_cond_destroy(&ahead->changed);
    pthread_mutex_destroy(&ahead->lock);
    free(ahead);
}
