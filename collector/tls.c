#include "collector/tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/minmax.h"
#include "base/printable.h"
#include "collector/say.h"

struct tls_context {
    SSL_CTX *ssl;
};

struct tls {
    SSL *ssl;
    BIO *from_network, *to_network; /* owned by `ssl` */
    char why[160];
};

/* Returns an error in words. Callers pass the oldest error in OpenSSL's queue, because that is the cause of the
 * others. */
static const char *error_text(unsigned long error)
{
    const char *text = ERR_SYSTEM_ERROR(error) ? strerror(ERR_GET_REASON(error)) : ERR_reason_error_string(error);
    return text ? text : "it cannot be used";
}

/* --- the files ---------------------------------------------------------------------------------- */

/* Refuses keys with a password. OpenSSL would ask for it on the terminal, and wait. */
static int no_password(char *text, int size, int writing, void *data)
{
    (void)text;
    (void)size;
    (void)writing;
    (void)data;
    return -1;
}

static bool wrong_file(const char *name, const char *path)
{
    say("--tls-%s %s: %s", name, path, error_text(ERR_peek_error()));
    return false;
}

static bool read_files(SSL_CTX *ssl, const struct tls_files *files)
{
    ERR_clear_error();
    if (SSL_CTX_use_certificate_chain_file(ssl, files->certificate) != 1)
        return wrong_file("cert", files->certificate);
    /* SSL_CTX_use_PrivateKey_file also fails if the key does not belong to the certificate. */
    if (SSL_CTX_use_PrivateKey_file(ssl, files->key, SSL_FILETYPE_PEM) != 1 || SSL_CTX_check_private_key(ssl) != 1)
        return wrong_file("key", files->key);
    if (SSL_CTX_load_verify_locations(ssl, files->authority, NULL) != 1)
        return wrong_file("ca", files->authority);
    STACK_OF(X509_NAME) *names = SSL_load_client_CA_file(files->authority);
    if (!names)
        return wrong_file("ca", files->authority);
    SSL_CTX_set_client_CA_list(ssl, names);
    return true;
}

struct tls_context *tls_context_create(const struct tls_files *files)
{
    struct tls_context *context = calloc(1, sizeof(*context));
    SSL_CTX *ssl = context ? SSL_CTX_new(TLS_method()) : NULL;
    if (!ssl) {
        say("TLS cannot be set up: out of memory");
        free(context);
        return NULL;
    }
    context->ssl = ssl;
    SSL_CTX_set_default_passwd_cb(ssl, no_password);
    SSL_CTX_set_min_proto_version(ssl, TLS1_2_VERSION);
    SSL_CTX_set_options(ssl, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET);
    SSL_CTX_set_num_tickets(ssl, 0); /* without tickets, every connection must authenticate anew */
    SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_mode(ssl, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_verify(ssl, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    if (read_files(ssl, files))
        return context;
    tls_context_destroy(context);
    return NULL;
}

void tls_context_destroy(struct tls_context *context)
{
    if (context)
        SSL_CTX_free(context->ssl);
    free(context);
}

/* --- one connection ----------------------------------------------------------------------------- */

static bool expect_host(SSL *ssl, const char *host)
{
    unsigned char address[sizeof(struct in6_addr)];
    bool numeric = inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1;
    if (numeric)
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1;
    SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return SSL_set1_host(ssl, host) == 1 && SSL_set_tlsext_host_name(ssl, host) == 1;
}

struct tls *tls_create(struct tls_context *context, const char *host)
{
    struct tls *tls = calloc(1, sizeof(*tls));
    SSL *ssl = tls ? SSL_new(context->ssl) : NULL;
    BIO *in = BIO_new(BIO_s_mem()), *out = BIO_new(BIO_s_mem());
    if (!ssl || !in || !out || (host && !expect_host(ssl, host))) {
        BIO_free(in);
        BIO_free(out);
        SSL_free(ssl);
        free(tls);
        return NULL;
    }
    BIO_set_mem_eof_return(in, -1); /* an empty BIO does not mean the end of the connection: more bytes may come */
    SSL_set_bio(ssl, in, out);
    if (host)
        SSL_set_connect_state(ssl);
    else
        SSL_set_accept_state(ssl);
    *tls = (struct tls){ .ssl = ssl, .from_network = in, .to_network = out };
    return tls;
}

void tls_destroy(struct tls *tls)
{
    if (tls)
        SSL_free(tls->ssl);
    free(tls);
}

int tls_feed(struct tls *tls, const uint8_t *bytes, size_t size)
{
    return BIO_write(tls->from_network, bytes, (int)size) == (int)size ? 0 : -ENOMEM;
}

size_t tls_take(struct tls *tls, uint8_t *bytes, size_t size)
{
    int taken =
        BIO_pending(tls->to_network) ? BIO_read(tls->to_network, bytes, (int)ws_min(size, (size_t)INT_MAX)) : 0;
    return taken > 0 ? (size_t)taken : 0;
}

/* Judges the result of an OpenSSL call that has failed. Returns -EAGAIN if OpenSSL only needs more bytes from the
 * network; else writes the reason into `why` and returns -EPROTO. */
static int judge(struct tls *tls, int result)
{
    int error = SSL_get_error(tls->ssl, result);
    if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE)
        return -EAGAIN;
    long verified = SSL_get_verify_result(tls->ssl);
    snprintf(tls->why, sizeof(tls->why), "%s",
             verified != X509_V_OK ? X509_verify_cert_error_string(verified) : error_text(ERR_peek_error()));
    return -EPROTO;
}

int tls_shake_hands(struct tls *tls)
{
    ERR_clear_error();
    int result = SSL_do_handshake(tls->ssl);
    if (result == 1)
        return 0;
    return judge(tls, result) == -EAGAIN ? 1 : -EPROTO;
}

ssize_t tls_read(struct tls *tls, uint8_t *bytes, size_t size)
{
    ERR_clear_error();
    int result = SSL_read(tls->ssl, bytes, (int)size);
    if (result > 0)
        return result;
    return SSL_get_error(tls->ssl, result) == SSL_ERROR_ZERO_RETURN ? 0 : judge(tls, result);
}

int tls_write(struct tls *tls, const uint8_t *bytes, size_t size)
{
    ERR_clear_error();
    int result = SSL_write(tls->ssl, bytes, (int)size);
    return result == (int)size ? 0 : (judge(tls, result), -EPROTO);
}

void tls_end(struct tls *tls)
{
    ERR_clear_error();
    SSL_shutdown(tls->ssl);
}

bool tls_peer_name(const struct tls *tls, char name[TLS_NAME_SIZE])
{
    X509 *certificate = SSL_get0_peer_certificate(tls->ssl);
    BIO *text = BIO_new(BIO_s_mem());
    GENERAL_NAMES *others = certificate ? X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL) : NULL;
    int length = 0;
    if (certificate && text)
        X509_NAME_print_ex(text, X509_get_subject_name(certificate), 0, XN_FLAG_RFC2253);
    for (int i = 0; text && !BIO_pending(text) && i < sk_GENERAL_NAME_num(others); i++) {
        const GENERAL_NAME *other = sk_GENERAL_NAME_value(others, i);
        if (other->type == GEN_DNS)
            BIO_printf(text, "DNS:%.*s", ASN1_STRING_length(other->d.dNSName),
                       (const char *)ASN1_STRING_get0_data(other->d.dNSName));
    }
    if (text)
        length = BIO_pending(text) < TLS_NAME_SIZE ? BIO_read(text, name, TLS_NAME_SIZE - 1) : 0;
    name[length > 0 ? length : 0] = 0;
    ws_make_printable(name);
    GENERAL_NAMES_free(others);
    BIO_free(text);
    return *name;
}

const char *tls_why(const struct tls *tls)
{
    return tls->why;
}
