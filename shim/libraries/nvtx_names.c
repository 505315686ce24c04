#include "shim/libraries/nvtx_names.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "base/chunks.h"
#include "base/hash.h"
#include "record/range_name.h"
#include "shim/libraries/library_calls.h"
#include "shim/state/lock.h"
#include "shim/state/registry.h"

enum {
    KNOWN_MOST = 16384,
    INDEX = 2 * KNOWN_MOST, /* a power of 2 */
    DOMAIN_TEXT = 64,       /* largest number of bytes of a domain's name in a label */
};

/* A domain of NVTX, or a string that the program has registered with NVTX. */
struct known {
    uint64_t hash;
    const char *text;
    uint32_t owner;         /* for a string: the number of its domain (nvtx_domain_number) plus 1; for a domain: 0 */
    _Atomic uint32_t label; /* for a string: dictionary id of its label; 0: there is no label yet */
};

/* The table of domains and strings. Rows are added with LOCK_START held, the only lock that can be taken before the
 * recording starts. Rows are never changed or removed, except that a string's label is set later. A row is complete
 * before known_index refers to it, so a forked child finds only complete rows. */
static struct ws_chunks known_rows = { .row_size = sizeof(struct known) };
static struct ws_pieces known_texts;
static _Atomic uint32_t known_count;
static _Atomic uint32_t known_index[INDEX]; /* hash table: number of a row in known_rows, plus 1; 0: free */

static struct known *known_at(uint64_t handle)
{
    bool exists = handle && handle <= atomic_load_explicit(&known_count, memory_order_acquire);
    return exists ? ws_chunks_row(&known_rows, (uint32_t)handle - 1) : NULL;
}

static uint32_t add(uint64_t hash, uint32_t owner, const char *text, size_t length)
{
    uint32_t count = atomic_load_explicit(&known_count, memory_order_relaxed);
    char *copy = count < KNOWN_MOST ? ws_pieces_take(&known_texts, length + 1) : NULL;
    struct known *row = copy ? ws_chunks_make(&known_rows, count) : NULL;
    if (!row)
        return 0;
    memcpy(copy, text, length);
    *row = (struct known){ .hash = hash, .text = copy, .owner = owner };
    atomic_store_explicit(&known_count, count + 1, memory_order_release);
    return count + 1;
}

/* Finds or adds the domain or string. Returns the number of its row, plus 1; 0: there is no room, or the lock was not
 * free in time. */
static uint32_t find_or_add(uint32_t owner, const char *text)
{
    size_t length = strnlen(text, NVTX_TEXT - 1);
    uint64_t hash = ws_hash(text, length) + owner;
    uint32_t found = 0;
    int saved_errno = errno;
    if (!lock_take(LOCK_START))
        return 0;
    for (uint64_t at = hash;; at++) {
        _Atomic uint32_t *slot = &known_index[at % INDEX];
        const struct known *row = known_at(atomic_load_explicit(slot, memory_order_relaxed));
        if (!row) {
            found = add(hash, owner, text, length);
            atomic_store_explicit(slot, found, memory_order_release);
            break;
        }
        if (row->hash == hash && row->owner == owner && !strncmp(row->text, text, length) && !row->text[length]) {
            found = atomic_load_explicit(slot, memory_order_relaxed);
            break;
        }
    }
    lock_release(LOCK_START);
    errno = saved_errno;
    return found;
}

ws_nvtxDomain nvtx_domain(const char *name)
{
    return name ? (ws_nvtxDomain)(uintptr_t)find_or_add(0, name) : NULL;
}

uint32_t nvtx_domain_number(ws_nvtxDomain domain)
{
    const struct known *row = known_at((uintptr_t)domain);
    return row && !row->owner ? (uint32_t)(uintptr_t)domain : 0;
}

ws_nvtxString nvtx_string(ws_nvtxDomain domain, const char *text)
{
    return text ? (ws_nvtxString)(uintptr_t)find_or_add(nvtx_domain_number(domain) + 1, text) : NULL;
}

/* --- labels ------------------------------------------------------------------------------------------ */

/* Replaces each number in the text by '#'. */
static void leave_out_numbers(char *text)
{
    char *to = text;
    for (const char *at = text; *at; at++) {
        bool digit = *at >= '0' && *at <= '9';
        if (!digit)
            *to++ = *at;
        else if (to == text || to[-1] != '#')
            *to++ = '#';
    }
    *to = 0;
}

/* Returns the label's dictionary id; 0: there is none. A program may give each range a different name, so names of
 * ranges may fill only three quarters of the dictionary of labels, which holds other labels, too. Once the dictionary
 * is half full, numbers in new names are replaced by '#'. Once the dictionary is three quarters full, new names get
 * no label. */
static uint32_t make_label(uint32_t domain, const char *text, size_t length)
{
    char label[DOMAIN_TEXT + NVTX_TEXT + 2];
    const struct known *of = known_at(domain);
    uint32_t count = atomic_load_explicit(&registry.label.count, memory_order_relaxed);
    if (!length || count > registry.label.limit / 4 * 3)
        return 0;
    if (of)
        snprintf(label, sizeof(label), "%.*s:%.*s", DOMAIN_TEXT, of->text, (int)length, text);
    else
        snprintf(label, sizeof(label), "%.*s", (int)length, text);
    if (count > registry.label.limit / 2)
        leave_out_numbers(label);
    return library_label(label);
}

static struct range_label_entry *cache_entry(struct shim_thread *thread, uint64_t key)
{
    return &thread->range_labels[key % RANGE_LABEL_CACHE];
}

static uint64_t cache_key(uint32_t domain, enum ws_range_kind kind, const char *text, size_t length)
{
    return ws_hash_key(text, length) + domain + ((uint64_t)kind << 32);
}

/* Returns the label, kind and number for a range's text that is not in the thread's cache. If the text has a counter
 * ("step 12"), the cache's key is made from the part before the counter ("step"), so that all such ranges share one
 * entry. */
static struct range_label find_name(struct shim_thread *thread, uint32_t domain, const char *text, size_t length)
{
    struct ws_range_name name = ws_range_name_read(text, length);
    uint64_t key = cache_key(domain, name.kind, text, name.length);
    struct range_label_entry *entry = cache_entry(thread, key);
    if (entry->key != key) {
        entry->name = (struct range_label){ make_label(domain, text, name.length), name.kind, 0 };
        entry->key = entry->name.label ? key : 0;
    }
    return (struct range_label){ entry->name.label, name.kind, name.number };
}

struct range_label nvtx_name_of_text(struct shim_thread *thread, uint32_t domain, const char *text)
{
    size_t length = text ? strnlen(text, NVTX_TEXT - 1) : 0;
    if (!length)
        return (struct range_label){ 0 };
    uint64_t key = cache_key(domain, WS_RANGE_ANNOTATION, text, length);
    const struct range_label_entry *entry = cache_entry(thread, key);
    return entry->key == key ? entry->name : find_name(thread, domain, text, length);
}

struct range_label nvtx_name_of_string(ws_nvtxString string)
{
    struct known *row = known_at((uintptr_t)string);
    if (!row || !row->owner)
        return (struct range_label){ 0 };
    size_t length = strlen(row->text);
    struct ws_range_name name = ws_range_name_read(row->text, length);
    uint32_t label = atomic_load_explicit(&row->label, memory_order_relaxed);
    if (!label) {
        label = make_label(row->owner - 1, row->text, name.length);
        atomic_store_explicit(&row->label, label, memory_order_relaxed);
    }
    return (struct range_label){ label, name.kind, name.number };
}

static size_t put_utf8(char *to, uint32_t code)
{
    if (code < 0x80) {
        to[0] = (char)code;
        return 1;
    }
    size_t bytes = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = bytes; --i; code >>= 6)
        to[i] = (char)(0x80 | (code & 0x3f));
    to[0] = (char)((0xf00 >> bytes & 0xff) | code);
    return bytes;
}

const char *nvtx_narrow(char *to, const wchar_t *text)
{
    enum { CHARACTER = 4, LAST = 0x10ffff };
    size_t used = 0;
    for (; text && *text && used < NVTX_TEXT - CHARACTER; text++)
        used += put_utf8(to + used, (uint32_t)*text <= LAST ? (uint32_t)*text : '?');
    to[used] = 0;
    return text ? to : NULL;
}
