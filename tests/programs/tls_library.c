/* A library with 256 bytes of static thread-local storage (initial-exec): see tls.c. */
int tls_touch(void);

static __thread int storage[64] __attribute__((tls_model("initial-exec")));

int tls_touch(void)
{
    volatile int *first = storage;
    return ++*first;
}
