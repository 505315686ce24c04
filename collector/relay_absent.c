/* Replaces gate.c, relay.c and tls.c in builds without OpenSSL. */
#include "collector/gate.h"
#include "collector/relay.h"
#include "collector/say.h"

struct tls_context *tls_context_create(const struct tls_files *files)
{
    say("--tls-cert %s: this collector was built without OpenSSL", files->certificate);
    return NULL;
}

void tls_context_destroy(struct tls_context *context)
{
    (void)context;
}

struct gates *gates_start(uv_loop_t *loop, const char *address, struct tls_context *tls, struct clients *clients)
{
    (void)loop;
    (void)tls;
    (void)clients;
    say("--listen %s: this collector was built without OpenSSL, and takes unix:PATH only", address);
    return NULL;
}

void gates_stop(struct gates *gates)
{
    (void)gates;
}

void gates_free(struct gates *gates)
{
    (void)gates;
}

struct relay *relay_start(uv_loop_t *loop, const char *address, struct tls_context *tls, struct clients *clients)
{
    (void)loop;
    (void)tls;
    (void)clients;
    say("--relay %s: this collector was built without OpenSSL", address);
    return NULL;
}

void relay_stop(struct relay *relay)
{
    (void)relay;
}

void relay_free(struct relay *relay)
{
    (void)relay;
}
