/* Tests of reading Python stacks from an image of an interpreter's memory, as `_Py_DebugOffsets` of Python 3.14
 * describes it. No test here runs a real interpreter; tests/end_to_end/stacks.py runs the interpreters that the
 * machine has. */
#include "shim/stacks/python.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "shim/hook/elf_lookup.h"
#include "shim/hook/resolve.h"

/* --- the image -------------------------------------------------------------------------------------- */

/* The parts of `_Py_DebugOffsets` of 3.14 in their order, each with the number of its words. */
enum part {
    HEAD,
    RUNTIME,
    INTERPRETER,
    THREAD,
    FRAME,
    CODE,
    OBJECT,
    TYPE,
    TUPLE,
    LIST,
    SET,
    DICT,
    FLOAT,
    LONG,
    BYTES,
    TEXT
};
static const unsigned sizes[] = { 3, 3, 16, 9, 8, 11, 2, 4, 3, 3, 4, 3, 2, 3, 3, 4 };

/* Offsets in the image. Where 3.14 may choose an offset freely, the offset here is unlike that of other versions. */
enum {
    RUNTIME_FINALIZING = 1000,
    FRAME_CODE = 8,
    FRAME_CALLER = 16,
    FRAME_POINTER = 24,
    FRAME_OWNER = 33,
    FRAME_SIZE = 40,
    CODE_FILE = 40,
    CODE_NAME = 48,
    CODE_LINES = 56,
    CODE_LINE = 36,
    CODE_START = 152,
    CODE_SIZE = 160,
    THREAD_FRAME = 96,
    TYPE_SIZE = 200,
    TEXT_ASCII = 40,
    TEXT_OTHER = 56,
    BYTES_DATA = 32,
};

static uint64_t runtime[128];
static unsigned long version = 0x030e02f0;
static char thread_state[128];
static _Alignas(8) char code_type[TYPE_SIZE], text_type[TYPE_SIZE], bytes_type[TYPE_SIZE];
static char frames[80][FRAME_SIZE] __attribute__((aligned(16)));
static _Alignas(16) char objects[1 << 20];
static size_t objects_used;
static unsigned frame_count, codes_freed;

static const void *the_thread(void)
{
    return thread_state;
}

static void free_code(void *code)
{
    codes_freed++;
    (void)code;
}

static uint64_t *word(enum part part, unsigned number)
{
    unsigned at = number;
    for (unsigned i = 0; i < part; i++)
        at += sizes[i];
    return &runtime[at];
}

static void put_pointer(char *at, const void *pointer)
{
    memcpy(at, &pointer, sizeof(pointer));
}

static int make_image(void **state)
{
    (void)state;
    memset(runtime, 0xee, sizeof(runtime));
    memcpy(&runtime[0], "xdebugpy", 8);
    version = 0x030e02f0;
    *word(HEAD, 1) = version;
    *word(HEAD, 2) = 0;
    *word(RUNTIME, 1) = RUNTIME_FINALIZING;
    put_pointer((char *)runtime + RUNTIME_FINALIZING, NULL);
    *word(THREAD, 4) = THREAD_FRAME;
    *word(FRAME, 0) = FRAME_SIZE;
    *word(FRAME, 1) = FRAME_CALLER;
    *word(FRAME, 2) = FRAME_CODE;
    *word(FRAME, 3) = FRAME_POINTER;
    *word(FRAME, 5) = FRAME_OWNER;
    *word(CODE, 0) = CODE_SIZE;
    *word(CODE, 1) = CODE_FILE;
    *word(CODE, 3) = CODE_NAME;
    *word(CODE, 4) = CODE_LINES;
    *word(CODE, 5) = CODE_LINE;
    *word(CODE, 9) = CODE_START;
    *word(OBJECT, 1) = 8;
    *word(TYPE, 1) = 24;
    *word(BYTES, 1) = 16;
    *word(BYTES, 2) = BYTES_DATA;
    *word(TEXT, 1) = 32;
    *word(TEXT, 2) = 16;
    *word(TEXT, 3) = TEXT_ASCII;
    put_pointer(code_type + 24, "code");
    put_pointer(code_type + 48, (const void *)(uintptr_t)free_code);
    put_pointer(thread_state + THREAD_FRAME, NULL);
    frame_count = codes_freed = 0;
    objects_used = 0;
    return 0;
}

/* Stands for the list of loaded libraries, in which the shim looks for the interpreter. */
void elf_each_placed(bool (*visit)(const struct elf_object *object, enum elf_place place, void *data), void *data)
{
    visit(&(struct elf_object){ .path = "python" }, ELF_BEFORE, data);
}

unsigned resolve_objects_at_start(void)
{
    return 1;
}

void *elf_symbol(const struct elf_object *object, const char *name)
{
    const struct {
        const char *name;
        void *symbol;
    } symbols[] = {
        { "_PyRuntime", runtime },      { "Py_Version", &version },
        { "PyCode_Type", code_type },   { "PyUnicode_Type", text_type },
        { "PyBytes_Type", bytes_type }, { "PyGILState_GetThisThreadState", (void *)(uintptr_t)the_thread },
    };
    (void)object;
    for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++)
        if (!strcmp(symbols[i].name, name))
            return symbols[i].symbol;
    return NULL;
}

/* --- objects ------------------------------------------------------------------------------------------ */

static char *allocate(size_t size)
{
    char *object = objects + objects_used;
    objects_used += (size + 15) / 16 * 16;
    assert_true(objects_used <= sizeof(objects));
    return object;
}

/* Makes a Python object whose contents begin at offset `data`. */
static char *make_object(const void *type, unsigned length_at, uint64_t length, unsigned data, const void *contents,
                         size_t size)
{
    char *object = allocate(data + size);
    memset(object, 0, data);
    put_pointer(object + 8, type);
    memcpy(object + length_at, &length, sizeof(length));
    memcpy(object + data, contents, size);
    return object;
}

static char *make_text(const void *characters, size_t length, unsigned width, bool is_ascii)
{
    unsigned data = is_ascii ? TEXT_ASCII : TEXT_OTHER;
    char *text = make_object(text_type, 16, length, data, characters, length * width);
    uint32_t about = 1 | width << 2 | 1 << 5 | (uint32_t)is_ascii << 6;
    memcpy(text + 32, &about, sizeof(about));
    return text;
}

static void fill_code(char *code, const char *name, const char *file, uint32_t line, const void *lines, size_t size)
{
    memset(code, 0, CODE_SIZE);
    put_pointer(code + 8, code_type);
    put_pointer(code + CODE_NAME, make_text(name, strlen(name), 1, true));
    put_pointer(code + CODE_FILE, make_text(file, strlen(file), 1, true));
    put_pointer(code + CODE_LINES, make_object(bytes_type, 16, size, BYTES_DATA, lines, size));
    memcpy(code + CODE_LINE, &line, sizeof(line));
}

static char *make_code(const char *name)
{
    char *code = allocate(CODE_SIZE);
    fill_code(code, name, "train.py", 7, "lines", 5);
    return code;
}

/* Adds a new innermost frame. tag: bits of the code's address that say how the frame refers to its code. */
static void push(const char *code, uintptr_t tag, uint32_t offset, char owner)
{
    char *frame = frames[frame_count], *caller = frame_count ? frames[frame_count - 1] : NULL;
    put_pointer(frame + FRAME_CODE, (const void *)((uintptr_t)code | tag));
    put_pointer(frame + FRAME_CALLER, caller);
    put_pointer(frame + FRAME_POINTER, code ? code + CODE_START + offset : NULL);
    frame[FRAME_OWNER] = owner;
    frame_count++;
    put_pointer(thread_state + THREAD_FRAME, frame);
}

/* The key (identifying number) of the current stack. The first stacks are read by system calls and have no key. */
static uint64_t key_here(void)
{
    struct python_frame found[PYTHON_DEEPEST];
    uint64_t key = 0;
    for (unsigned i = 0; i < 100 && !key; i++) {
        assert_true(python_frames_here(thread_state, found) > 0);
        key = python_key(thread_state).hash;
    }
    assert_int_not_equal(key, 0);
    return key;
}

static void die(char *code)
{
    void (*slot)(void *);
    memcpy(&slot, code_type + 48, sizeof(slot));
    slot(code);
}

/* --- tests -------------------------------------------------------------------------------------------- */

static void frames_are_read(void **state)
{
    (void)state;
    struct python_frame found[PYTHON_DEEPEST];
    struct python_function function;
    char *outer = make_code("main"), *inner = make_code("Model.forward");
    assert_null(python_find());
    push(NULL, 1, 0, 4);   /* the thread's own frame */
    push(NULL, 1, 0, 3);   /* the interpreter's own frame */
    push(outer, 1, 12, 0); /* a frame that holds a reference to its code */
    push(NULL, 1, 0, 3);   /* a frame for a call from C */
    push(inner, 0, 34, 1); /* a generator's frame */
    assert_int_equal(python_frames_here(python_thread(), found), 2);
    assert_ptr_equal(found[0].code, inner);
    assert_int_equal(found[0].offset, 34);
    assert_ptr_equal(found[1].code, outer);
    assert_int_equal(found[1].offset, 12);
    assert_true(python_function_of(&found[0], false, &function));
    assert_string_equal(function.name, "Model.forward");
    assert_string_equal(function.file, "train.py");
    assert_int_equal(function.first_line, 7);
    assert_int_equal(function.coding, WS_LINES_LOCATIONS);
    assert_int_equal(function.lines_size, 5);
    assert_memory_equal(function.lines, "lines", 5);
    struct python_frame others[PYTHON_DEEPEST];
    assert_int_equal(python_frames_of(thread_state, others), 2);
    assert_int_equal(others[0].checksum, found[0].checksum);
}

/* While the interpreter shuts down, threads have no stacks: their states may have been freed. */
static void an_interpreter_that_shuts_down_is_left_alone(void **state)
{
    (void)state;
    assert_null(python_find());
    assert_ptr_equal(python_thread(), thread_state);
    put_pointer((char *)runtime + RUNTIME_FINALIZING, thread_state);
    assert_null(python_thread());
}

/* Of a deep stack, only the innermost frames are read. */
static void stacks_are_bounded(void **state)
{
    (void)state;
    struct python_frame found[PYTHON_DEEPEST];
    char *code = make_code("recurse");
    assert_null(python_find());
    for (unsigned i = 0; i < 80; i++)
        push(code, 0, i, 0);
    assert_int_equal(python_frames_here(thread_state, found), PYTHON_DEEPEST);
    assert_int_equal(found[0].offset, 79);
    assert_int_equal(found[PYTHON_DEEPEST - 1].offset, 80 - PYTHON_DEEPEST);
    uint64_t key = key_here();
    assert_int_equal(python_key(thread_state).hash, key);
    assert_int_equal(python_key(thread_state).depth, PYTHON_DEEPEST);
    put_pointer(frames[80 - PYTHON_DEEPEST - 1] + FRAME_CODE, NULL); /* changes the caller of the last frame read */
    assert_int_equal(key_here(), key);
    put_pointer(frames[80 - PYTHON_DEEPEST] + FRAME_POINTER, code + CODE_START);
    assert_int_not_equal(key_here(), key);
}

/* Stacks have different keys if they differ in a frame's function, in a frame's place in its function, or in the
 * order of the frames. */
static void keys_differ(void **state)
{
    (void)state;
    char *a = make_code("a"), *b = make_code("b");
    uint64_t keys[6];
    assert_null(python_find());
    push(a, 0, 2, 0);
    keys[0] = key_here();
    push(b, 0, 4, 0);
    keys[1] = key_here();
    assert_int_equal(key_here(), keys[1]);
    frame_count = 0;
    push(b, 0, 4, 0);
    push(a, 0, 2, 0);
    keys[2] = key_here();
    frame_count = 0;
    push(a, 0, 4, 0);
    push(b, 0, 2, 0);
    keys[3] = key_here();
    frame_count = 0;
    push(a, 0, 2, 0);
    push(b, 0, 6, 0);
    keys[4] = key_here();
    push(b, 0, 6, 0);
    keys[5] = key_here();
    for (unsigned i = 0; i < 6; i++)
        for (unsigned j = 0; j < i; j++)
            assert_int_not_equal(keys[i], keys[j]);
}

/* A function's code object is freed, and another is made at the same address and called from the same place. The
 * frames are as before, but the key must differ. */
static void addresses_are_used_again(void **state)
{
    (void)state;
    struct python_frame before, after;
    char *caller = make_code("main"), *code = make_code("first");
    assert_null(python_find());
    push(caller, 0, 2, 0);
    push(code, 0, 4, 0);
    struct python_frame found[PYTHON_DEEPEST];
    uint64_t key = key_here();
    assert_int_equal(python_frames_here(thread_state, found), 2);
    before = found[0];
    die(code);
    assert_int_equal(codes_freed, 1);
    fill_code(code, "other", "train.py", 7, "lines", 5);
    assert_int_not_equal(key_here(), key);
    assert_int_equal(python_frames_here(thread_state, found), 2);
    after = found[0];
    assert_ptr_equal(after.code, before.code);
    assert_int_not_equal(after.checksum, before.checksum);
    struct python_function function;
    assert_false(python_function_of(&before, true, &function)); /* the code was freed before it was read */
}

static uint64_t key_in_death;

static void free_code_and_look(void *code)
{
    (void)code;
    key_in_death = key_here();
}

/* A code object may be freed while its frame is still in use, and the interpreter may run code during that. The key
 * of the stack with that frame must not be used later. */
static void stacks_of_the_dying_are_forgotten(void **state)
{
    (void)state;
    char *code = make_code("dying");
    put_pointer(code_type + 48, (const void *)(uintptr_t)free_code_and_look);
    assert_null(python_find());
    push(code, 0, 4, 0);
    uint64_t before = key_here();
    die(code);
    assert_int_not_equal(key_in_death, before);
    assert_int_not_equal(key_here(), before);
    assert_int_not_equal(key_here(), key_in_death);
}

/* The shim replaces the interpreter's function for freeing code. If another tool undoes this, stacks have no keys. */
static void without_watch_no_keys(void **state)
{
    (void)state;
    push(make_code("main"), 0, 2, 0);
    assert_null(python_find());
    assert_int_not_equal(key_here(), 0);
    put_pointer(code_type + 48, (const void *)(uintptr_t)free_code);
    assert_int_equal(python_key(thread_state).hash, 0);
}

/* The checksum covers everything about a function that a report shows. */
static void checksums_differ(void **state)
{
    (void)state;
    static char lines[PYTHON_LINES_MOST + 1], long_name[300];
    struct {
        const char *name, *file;
        uint32_t line;
        size_t changed; /* index of the only byte of the table of lines that is 1; all others are 0 */
        size_t size;
    } const codes[] = {
        { "f", "a.py", 1, 0, 1000 },   { "g", "a.py", 1, 0, 1000 }, { "f", "b.py", 1, 0, 1000 },
        { "f", "a.py", 2, 0, 1000 },   { "f", "a.py", 1, 1, 1000 }, { "f", "a.py", 1, 500, 1000 },
        { "f", "a.py", 1, 999, 1000 }, { "f", "a.py", 1, 0, 999 },  { long_name, "a.py", 1, 0, 1000 },
        { "fa", ".py", 1, 0, 1000 },   { "f", "a.py", 1, 0, 0 },
    };
    enum { COUNT = sizeof(codes) / sizeof(codes[0]) };
    struct python_frame found[PYTHON_DEEPEST];
    assert_null(python_find());
    memset(long_name, 'n', sizeof(long_name) - 1);
    for (size_t i = 0; i < COUNT; i++) {
        memset(lines, 0, sizeof(lines));
        lines[codes[i].changed] = 1;
        char *code = allocate(CODE_SIZE);
        fill_code(code, codes[i].name, codes[i].file, codes[i].line, lines, codes[i].size);
        push(code, 0, 0, 0);
    }
    assert_int_equal(python_frames_here(thread_state, found), COUNT);
    for (size_t i = 0; i < COUNT; i++)
        for (size_t j = 0; j < i; j++)
            assert_int_not_equal(found[i].checksum, found[j].checksum);
}

/* Texts that are not ASCII are converted to UTF-8. A table of lines that is too large is left out. */
static void functions_are_copied(void **state)
{
    (void)state;
    static char lines[PYTHON_LINES_MOST + 1];
    static const uint16_t wide[] = { 'm', 0xfc, 0x6587 };
    static uint32_t wider[200];
    struct python_function function;
    struct python_frame found[PYTHON_DEEPEST];
    assert_null(python_find());
    char *code = allocate(CODE_SIZE);
    fill_code(code, "", "", 1, lines, sizeof(lines));
    for (unsigned i = 0; i < 200; i++)
        wider[i] = 0x1f40d;
    put_pointer(code + CODE_NAME, make_text(wide, 3, 2, false));
    put_pointer(code + CODE_FILE, make_text(wider, 200, 4, false));
    push(code, 0, 0, 0);
    assert_int_equal(python_frames_here(thread_state, found), 1);
    for (int guarded = 0; guarded < 2; guarded++) {
        assert_true(python_function_of(&found[0], guarded, &function));
        assert_string_equal(function.name, "m\u00fc\u6587");
        assert_int_equal(strlen(function.file), 800);
        assert_memory_equal(function.file + 796, "\U0001f40d", 4);
        assert_int_equal(function.coding, WS_LINES_NONE);
        assert_int_equal(function.lines_size, 0);
    }
}

/* An interpreter that the shim cannot read is refused, with a text that names the interpreter. */
static void others_are_refused(void **state)
{
    (void)state;
    *word(HEAD, 2) = 1;
    assert_string_equal(python_find(), "Python 3.14 without GIL is not known");
    make_image(NULL);
    version = *word(HEAD, 1) = 0x030e00b2;
    assert_string_equal(python_find(), "Python 3.14 before its release is not known");
    make_image(NULL);
    *word(TEXT, 1) = 40; /* as if text objects had another member before their state */
    assert_string_equal(python_find(), "Python 3.14 with other offsets is not known");
    make_image(NULL);
    *word(FRAME, 5) = FRAME_SIZE;
    assert_string_equal(python_find(), "Python 3.14 with other offsets is not known");
    make_image(NULL);
    version = *word(HEAD, 1) = 0x030f00f0;
    assert_string_equal(python_find(), "Python 3.15 is not known");
    make_image(NULL);
    put_pointer(code_type + 24, "node");
    assert_string_equal(python_find(), "Python's code objects are not as expected");
}

/* If a frame has no code object, or if an address cannot be read, the shim reads no stacks any more. The address
 * causes no fault, because the first stacks are read by system calls. */
static void surprises_end_stacks(void **state)
{
    (void)state;
    struct python_frame found[PYTHON_DEEPEST];
    assert_null(python_find());
    push(text_type, 0, 0, 0);
    assert_int_equal(python_frames_here(thread_state, found), 0);
    assert_false(python_is_read());

    const void *nowhere[] = { (const void *)8, (const void *)0x1001, (const void *)UINTPTR_MAX, NULL };
    nowhere[3] = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (unsigned i = 0; i < 4; i++) {
        make_image(NULL);
        assert_null(python_find());
        assert_true(python_is_read());
        put_pointer(thread_state + THREAD_FRAME, nowhere[i]);
        assert_int_equal(python_frames_here(thread_state, found), 0);
        assert_false(python_is_read());
    }
}

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* Another thread's frames may change while they are read, to any content: pointers to unmapped memory, wrong sizes,
 * frames that form a ring. */
static void whatever_is_read_is_survived(void **state)
{
    (void)state;
    struct python_frame found[PYTHON_DEEPEST];
    struct python_function function;
    uint64_t random = 1;
    unsigned read = 0, functions = 0;
    assert_null(python_find());
    for (unsigned round = 0; round < 2000; round++) {
        frame_count = 0;
        objects_used = 0;
        for (unsigned i = 0; i < 6; i++)
            push(make_code("f"), 0, 2 * i, 0);
        for (unsigned i = next_random(&random) % 4; i--;) {
            bool in_frames = next_random(&random) % 4 == 0;
            char *at = in_frames ? frames[0] : objects;
            at += next_random(&random) % (in_frames ? 6 * FRAME_SIZE : objects_used) / 8 * 8;
            const uintptr_t values[] = { 0,       (uintptr_t)objects, (uintptr_t)frames,     (uintptr_t)code_type, 8,
                                         1 << 20, (uintptr_t)1 << 46, (uintptr_t)bytes_type, UINTPTR_MAX };
            put_pointer(at, (const void *)values[next_random(&random) % (sizeof(values) / sizeof(values[0]))]);
        }
        unsigned count = python_frames_of(thread_state, found);
        assert_true(count <= PYTHON_DEEPEST);
        read += count > 0;
        for (unsigned i = 0; i < count; i++)
            functions += python_function_of(&found[i], true, &function);
    }
    assert_true(read > 0 && read < 2000 && functions > 0); /* some of the random contents can be read, some cannot */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        /* this test comes first: it needs the system calls by which only the first stacks are read */
        cmocka_unit_test_setup(surprises_end_stacks, make_image),
        cmocka_unit_test_setup(frames_are_read, make_image),
        cmocka_unit_test_setup(an_interpreter_that_shuts_down_is_left_alone, make_image),
        cmocka_unit_test_setup(stacks_are_bounded, make_image),
        cmocka_unit_test_setup(keys_differ, make_image),
        cmocka_unit_test_setup(addresses_are_used_again, make_image),
        cmocka_unit_test_setup(stacks_of_the_dying_are_forgotten, make_image),
        cmocka_unit_test_setup(without_watch_no_keys, make_image),
        cmocka_unit_test_setup(checksums_differ, make_image),
        cmocka_unit_test_setup(functions_are_copied, make_image),
        cmocka_unit_test_setup(whatever_is_read_is_survived, make_image),
        cmocka_unit_test_setup(others_are_refused, make_image),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
