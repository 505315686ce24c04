/* Stores the values of an event as the parser finds them. */
#include <errno.h>

#include "base/hash.h"
#include "input/decimal.h"
#include "input/kineto.h"

static void kineto_values_keep(struct kineto *kineto, enum kineto_text_kind kind, const char *text, size_t length)
{
    kineto->texts[kind].size = 0;
    if (kineto_append(&kineto->texts[kind], text, length))
        kineto->gather->error = -ENOMEM;
}

static void keep_number(struct kineto_event *event, enum kineto_key key, const char *text, size_t length, int shift)
{
    if (ws_decimal(text, length, shift, &event->number[key]))
        event->seen |= (uint64_t)1 << key;
    else
        event->number[key] = 0;
}

void kineto_take_event_value(struct kineto *kineto, enum kineto_key key, const char *text, size_t length,
                             bool is_text)
{
    struct kineto_event *event = &kineto->event;
    switch (key) {
    case KINETO_PHASE:
        event->phase = 0;
        if (length)
            event->phase = *text;
        break;
    case KINETO_CATEGORY:
        event->category = kineto_category_of(text, length);
        break;
    case KINETO_NAME:
        kineto_values_keep(kineto, TEXT_NAME, text, length);
        break;
    case KINETO_TIME:
    case KINETO_DURATION:
        keep_number(event, key, text, length, 3);
        break;
    case KINETO_PID:
        if (is_text)
            kineto_note_process(kineto, text, length);
        event->other = is_text && kineto_leave_label(&kineto->label, &text, &length);
        /* fall through */
    case KINETO_TID:
        keep_number(event, key, text, length, 0);
        if (is_text && !kineto_saw(event, key)) /* a text like "stream 7" gets its hash as its number */
            event->number[key] = (int64_t)(ws_hash(text, length) | (uint64_t)1 << 63);
        break;
    default:
        break;
    }
}

/* For each key of an event's arguments: whether the importer reads its value as a number or as a text, and where it
 * stores the text. The importer ignores all other arguments. */
static const struct {
    bool number, text;
    enum kineto_text_kind kind;
} arguments[KINETO_KEY_COUNT] = {
    [KINETO_NAME] = { .text = true, .kind = TEXT_SAID },
    [KINETO_LABELS] = { .text = true, .kind = TEXT_SAID },
    [KINETO_CALL_STACK] = { .text = true, .kind = TEXT_STACK },
    [KINETO_COLLECTIVE] = { .text = true, .kind = TEXT_COLLECTIVE },
    [KINETO_ELEMENT_TYPE] = { .text = true, .kind = TEXT_ELEMENT_TYPE },
    [KINETO_GROUP_NAME] = { .text = true, .kind = TEXT_GROUP_NAME },
    [KINETO_GROUP_RANKS] = { .text = true, .kind = TEXT_GROUP_RANKS },
    [KINETO_DEVICE] = { .number = true },
    [KINETO_CONTEXT] = { .number = true },
    [KINETO_STREAM] = { .number = true },
    [KINETO_CORRELATION] = { .number = true },
    [KINETO_REGISTERS] = { .number = true },
    [KINETO_SHARED] = { .number = true },
    [KINETO_BYTES] = { .number = true },
    [KINETO_ADDRESS] = { .number = true },
    [KINETO_ALLOCATED] = { .number = true },
    [KINETO_TOTAL_ALLOCATED] = { .number = true },
    [KINETO_DEVICE_TYPE] = { .number = true },
    [KINETO_DEVICE_ID] = { .number = true },
    [KINETO_ELEMENTS_IN] = { .number = true },
    [KINETO_ELEMENTS_OUT] = { .number = true },
    [KINETO_GROUP_SIZE] = { .number = true },
    [KINETO_GROUP_RANK] = { .number = true },
    [KINETO_SEQUENCE] = { .number = true },
    [KINETO_SOURCE_RANK] = { .number = true },
    [KINETO_TARGET_RANK] = { .number = true },
};

void kineto_take_argument(struct kineto *kineto, enum kineto_key key, const char *text, size_t length)
{
    if (arguments[key].number)
        keep_number(&kineto->event, key, text, length, 0);
    else if (arguments[key].text)
        kineto_values_keep(kineto, arguments[key].kind, text, length);
}

void kineto_take_concrete(struct kineto_event *event, size_t index, const char *text, size_t length)
{
    int64_t value;
    if (!ws_decimal(text, length, 0, &value))
        value = 0;
    if (index >= 1 && index <= 3)
        event->concrete[index - 1] = value;
    event->concrete[3] = value;
}

void kineto_take_extent(uint32_t extent[3], size_t index, const char *text, size_t length)
{
    int64_t value;
    if (index < 3 && ws_decimal(text, length, 0, &value) && value >= 0 && value <= UINT32_MAX)
        extent[index] = (uint32_t)value;
}
