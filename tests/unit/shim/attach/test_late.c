/* Tests of the reasons that the shim gives if it cannot start in a program that was started without it (shim/late.c).
 * The test takes the place of `wallshim attach`: it loads the shim and calls its entry function.
 *
 *   test_late SHIM DRIVER: paths of libwallshim.so and of libcuda.so.1 */
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "wire/attach.h"
#include "wire/late.h"

enum { NOBODY = 65534 };

static const char *shim, *driver;
static bool no_more_threads; /* once the shim is entered, the process may not start threads */

static struct ws_late_block *block_new(void *decoder)
{
    static struct ws_late_block blocks[2];
    static unsigned used;
    struct ws_late_block *block = &blocks[used++];
    block->version = WS_LATE_VERSION;
    block->dlsym = (uint64_t)(uintptr_t)dlsym;
    block->libraries[WS_LATE_DECODER] = (uint64_t)(uintptr_t)decoder;
    return block;
}

static void *entry_of_shim(void)
{
    void *library = dlopen(shim, RTLD_NOW | RTLD_LOCAL);
    return library ? dlsym(library, "wallshim_attach") : NULL;
}

static void *decoder_open(void)
{
    return dlopen("libZydis.so.4.0", RTLD_NOW | RTLD_LOCAL);
}

static void *enter_main(void *block)
{
    void *entry = entry_of_shim();
    const struct rlimit none = { 0, 0 };
    /* The limit does not hold for root. */
    if (no_more_threads && ((!geteuid() && setresuid(NOBODY, NOBODY, NOBODY)) || setrlimit(RLIMIT_NPROC, &none)))
        _exit(2);
    if (!entry)
        _exit(2);
    ((void (*)(struct ws_late_block *))entry)(block);
    return NULL;
}

static pthread_t enter_begin(struct ws_late_block *block)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, enter_main, block))
        _exit(2);
    return thread;
}

/* Calls the entry function in a thread of its own, as `wallshim attach` does: the shim gives its thread descriptors
 * of its own. */
static void enter(struct ws_late_block *block)
{
    pthread_join(enter_begin(block), NULL);
}

static void open_driver(void)
{
    if (!dlopen(driver, RTLD_NOW | RTLD_GLOBAL))
        _exit(2);
}

/* --- the situations; each runs in a process of its own, and returns the block --------------------------------------
 */

static struct ws_late_block *of_other_version(void)
{
    struct ws_late_block *block = block_new(decoder_open());
    block->version++;
    enter(block);
    return block;
}

static struct ws_late_block *with_wrong_decoder(void)
{
    struct ws_late_block *block = block_new(dlopen(NULL, RTLD_NOW));
    enter(block);
    return block;
}

static struct ws_late_block *without_driver(void)
{
    struct ws_late_block *block = block_new(decoder_open());
    enter(block);
    return block;
}

static struct ws_late_block *without_threads(void)
{
    struct ws_late_block *block = block_new(decoder_open());
    open_driver();
    no_more_threads = true;
    enter(block);
    return block;
}

static struct ws_late_block *with_taken_name(void)
{
    struct ws_late_block *block = block_new(decoder_open());
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    struct stat about;
    int taken = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    open_driver();
    if (taken < 0 || stat("/proc/self/ns/pid", &about))
        _exit(2);
    size_t length = ws_attach_name(address.sun_path, sizeof(address.sun_path), (uint64_t)about.st_ino, getpid());
    if (bind(taken, (struct sockaddr *)&address, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length)))
        _exit(2);
    enter(block);
    return block;
}

static struct ws_late_block *without_command(void)
{
    struct ws_late_block *block = block_new(decoder_open());
    open_driver();
    enter(block);
    return block;
}

/* A second attach, while the first one waits for its command. */
static struct ws_late_block *beside_another(void)
{
    struct ws_late_block *first = block_new(decoder_open()), *second = block_new(decoder_open());
    open_driver();
    pthread_t thread = enter_begin(first);
    while (atomic_load(&first->state) != WS_LATE_PREPARED && atomic_load(&first->state) != WS_LATE_FAILED)
        usleep(1000);
    enter(second);
    pthread_join(thread, NULL);
    return second;
}

/* --- what each says --------------------------------------------------------------------------------------------- */

/* Runs the situation in a child process, and checks the reason that the shim gave. */
static void expect(struct ws_late_block *(*situation)(void), const char *why)
{
    char text[WS_LATE_TEXT] = "";
    int ends[2], status;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        const struct ws_late_block *block = situation();
        bool failed = atomic_load(&block->state) == WS_LATE_FAILED;
        _exit(!failed || write(ends[1], block->text, sizeof(block->text)) != sizeof(block->text));
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], text, sizeof(text)), sizeof(text));
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_string_equal(text, why);
}

static void shim_says_why_it_does_not_start(void **state)
{
    (void)state;
    expect(of_other_version, "libwallshim.so and wallshim are of different versions");
    expect(with_wrong_decoder, "Zydis 4.0 was not found");
    expect(without_driver, "no function of the driver can be patched");
    expect(without_threads, "the shim's thread could not be started");
    expect(with_taken_name, "no socket can be made there");
    expect(without_command, "the functions were not patched in time");
    expect(beside_another, "another attach is under way");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(shim_says_why_it_does_not_start) };
    if (argc < 3)
        return 2;
    shim = argv[1];
    driver = argv[2];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
