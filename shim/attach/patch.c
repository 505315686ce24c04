#include "shim/attach/patch.h"

#include <errno.h>
#include <string.h>

#include "shim/attach/patch_code.h"
#include "shim/attach/patch_decoder.h"
#include "shim/attach/patch_pages.h"

static const char *const reasons[PATCH_REFUSALS] = {
    [PATCH_OK] = "patched",
    [PATCH_NO_DECODER] = "Zydis 4.0 was not found",
    [PATCH_TOO_SHORT] = "the function is shorter than a jump",
    [PATCH_JUMP_INTO] = "the function jumps back to its first instructions",
    [PATCH_UNKNOWN_INSTRUCTION] = "an instruction is not known",
    [PATCH_TOO_LONG] = "the function is too long to be looked at as a whole",
    [PATCH_OVERLAP] = "instructions of the function overlap",
    [PATCH_FIXED_INSTRUCTION] = "one of the first instructions works only in its place",
    [PATCH_CALL] = "the first instructions call, and would return to another place",
    [PATCH_RELATIVE_FAR] = "the first instructions refer to something too far away",
    [PATCH_ALREADY] = "already patched",
    [PATCH_NOT_OURS] = "somebody else changed the function",
    [PATCH_NO_ROOM] = "no free addresses within 2 GiB of the function",
    [PATCH_MEMORY] = "the kernel refuses executable memory here",
};

const char *patch_reason(enum patch_refusal refusal)
{
    return (unsigned)refusal < PATCH_REFUSALS ? reasons[refusal] : "unknown";
}

/* --- slots ------------------------------------------------------------------------------------ */

enum { BLOCK_SLOTS = 512, BLOCKS = 64 };

/* Blocks of slots. A slot holds the trampoline of one function (patch_code.h). A block lies near the functions to
 * which its slots belong. A slot is never freed, but used again when its function is patched again. */
static struct patch_slot *blocks[BLOCKS];

static bool reaches(const struct patch_slot *slot, uintptr_t entry)
{
    uintptr_t at = (uintptr_t)slot;
    return (at > entry ? at - entry : entry - at) + BLOCK_SLOTS * sizeof(*slot) < PATCH_REACH;
}

static bool is_in_slots(const uint8_t *address)
{
    for (size_t i = 0; i < BLOCKS && blocks[i]; i++)
        if (address >= (uint8_t *)blocks[i] && address < (uint8_t *)(blocks[i] + BLOCK_SLOTS))
            return true;
    return false;
}

static struct patch_slot *next_slot(struct patch_slot *slot, struct patch_slot *block)
{
    return slot && slot + 1 < block + BLOCK_SLOTS ? slot + 1 : NULL;
}

/* May the slot be used for this function? The slot of an earlier patch of the function may be used only if its
 * trampoline would stay the same, because threads may still be in the trampoline. If patch_fill_slot refuses the
 * function, sets *refusal and returns true, so that the search for a slot ends. */
static bool may_use(const struct patch_slot *slot, struct patch *patch, uintptr_t entry, void *replacement,
                    enum patch_refusal *refusal)
{
    struct patch_slot content = { .entry = entry };
    if (slot->entry && slot->entry != entry)
        return false;
    *refusal = patch_fill_slot(patch, &content, (struct patch_slot *)slot, replacement);
    return *refusal || !slot->entry || !memcmp(slot->trampoline, content.trampoline, sizeof(content.trampoline));
}

static enum patch_refusal write_slot(struct patch *patch, struct patch_slot *slot, uintptr_t entry, void *replacement)
{
    struct patch_slot content = { .entry = entry };
    enum patch_refusal refusal = patch_fill_slot(patch, &content, slot, replacement);
    struct page_edit edit = { (uint8_t *)slot, (const uint8_t *)&content, sizeof(content) };
    if (refusal || !memcmp(slot, &content, sizeof(content)))
        return refusal;
    return pages_edit(&edit, 1, false) ? PATCH_MEMORY : PATCH_OK;
}

static struct patch_slot *find_slot(struct patch *patch, uintptr_t entry, void *replacement,
                                    enum patch_refusal *refusal)
{
    size_t i = 0;
    for (; i < BLOCKS && blocks[i]; i++)
        if (reaches(blocks[i], entry))
            for (struct patch_slot *slot = blocks[i]; slot; slot = next_slot(slot, blocks[i]))
                if (may_use(slot, patch, entry, replacement, refusal))
                    return slot;
    *refusal = PATCH_NO_ROOM;
    if (i == BLOCKS)
        return NULL;
    blocks[i] = pages_near(entry, BLOCK_SLOTS * sizeof(struct patch_slot), PATCH_REACH);
    if (!blocks[i] && errno != ENOMEM)
        *refusal = PATCH_MEMORY;
    if (blocks[i])
        *refusal = PATCH_OK;
    return blocks[i];
}

/* --- patches ---------------------------------------------------------------------------------- */

enum patch_refusal patch_prepare(struct patch *patch, void *entry, size_t size, void *replacement)
{
    uintptr_t begin, end;
    *patch = (struct patch){ 0 };
    if (!decoder_ready())
        return PATCH_NO_DECODER;
    if (!pages_find_code(entry, &begin, &end))
        return PATCH_MEMORY;
    struct patch_text text = { (const uint8_t *)begin, (const uint8_t *)end };
    enum patch_refusal refusal = patch_read_head(patch, entry, size, &text);
    if (patch->place && is_in_slots(patch_jumps_to(patch->place, &text)))
        return PATCH_ALREADY;
    if (refusal)
        return refusal;
    struct patch_slot *slot = find_slot(patch, (uintptr_t)entry, replacement, &refusal);
    return refusal ? refusal : write_slot(patch, slot, (uintptr_t)entry, replacement);
}

bool patch_is_applied(const struct patch *patch)
{
    return !memcmp(patch->place, patch->jump, PATCH_JUMP_SIZE);
}

/* Writes the jumps if `apply` is true, else the original bytes. Skips functions whose code has these bytes already.
 */
static enum patch_refusal change_all(struct patch *const *patches, size_t count, bool apply)
{
    size_t wanted = 0, size = count * sizeof(struct page_edit);
    enum patch_refusal refusal = PATCH_OK;
    struct page_edit *edits = pages_scratch(size);
    if (!edits)
        return PATCH_MEMORY;
    for (size_t i = 0; i < count; i++) {
        struct patch *patch = patches[i];
        bool patched = patch_is_applied(patch);
        bool original = !memcmp(patch->place, patch->original, patch->length);
        if (!patched && !original)
            refusal = refusal ? refusal : PATCH_NOT_OURS;
        else if (patched != apply)
            edits[wanted++] =
                (struct page_edit){ patch->place, apply ? patch->jump : patch->original, PATCH_JUMP_SIZE };
    }
    if (pages_edit(edits, wanted, !apply) && !refusal)
        refusal = PATCH_MEMORY;
    pages_free(edits, size);
    return refusal;
}

enum patch_refusal patches_apply(struct patch *const *patches, size_t count)
{
    return change_all(patches, count, true);
}

enum patch_refusal patches_remove(struct patch *const *patches, size_t count)
{
    return change_all(patches, count, false);
}
