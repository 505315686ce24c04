#include "shim/drain/secrets.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

static const char hidden[] = "***";

/* --- names ------------------------------------------------------------------------------------- */

static bool is_word(char byte)
{
    return isalnum((unsigned char)byte);
}

/* A name with "tokenizer" is no secret, although it contains "token": many programs name their tokenizer. */
static bool is_tokenizer(const char *name, size_t length)
{
    static const char word[] = "tokenizer";
    return length >= sizeof(word) - 1 && !strncasecmp(name, word, sizeof(word) - 1);
}

/* Where a word (such as "TOKEN") must be in a name, if the name is to count as that of a secret. WHOLE: anywhere, but
 * with no letter or digit directly before or after the word. */
enum place { ANYWHERE, AT_THE_END, WHOLE };

static bool stands(const char *name, size_t length, const char *word, size_t word_length, enum place place)
{
    for (size_t at = 0; word_length && at + word_length <= length; at++) {
        if (strncasecmp(name + at, word, word_length) != 0 || is_tokenizer(name + at, length - at))
            continue;
        bool ends = at + word_length == length || !is_word(name[at + word_length]);
        bool begins = !at || !is_word(name[at - 1]);
        if (place == ANYWHERE || (ends && (place == AT_THE_END || begins)))
            return true;
    }
    return false;
}

bool secrets_named(const char *name, size_t length, const char *more_words)
{
    static const struct {
        const char *word;
        enum place place;
    } words[] = { { "KEY", ANYWHERE },        { "TOKEN", ANYWHERE },  { "SECRET", ANYWHERE },
                  { "PASSWORD", ANYWHERE },   { "PASSWD", ANYWHERE }, { "PASSPHRASE", ANYWHERE },
                  { "CREDENTIAL", ANYWHERE }, { "AUTH", ANYWHERE },   { "COOKIE", ANYWHERE },
                  { "JWT", ANYWHERE },        { "BEARER", ANYWHERE }, { "PASS", AT_THE_END },
                  { "PWD", AT_THE_END },      { "PAT", WHOLE },       { "SIG", WHOLE },
                  { "SIGNATURE", ANYWHERE } };
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (stands(name, length, words[i].word, strlen(words[i].word), words[i].place))
            return true;
    for (const char *at = more_words; *at; at += strspn(at, ",")) {
        size_t word_length = strcspn(at, ",");
        if (stands(name, length, at, word_length, ANYWHERE))
            return true;
        at += word_length;
    }
    return false;
}

/* --- texts ------------------------------------------------------------------------------------- */

struct text {
    char *bytes;
    size_t used, capacity;
};

static void put(struct text *to, const char *from, size_t length)
{
    size_t room = to->capacity - 1 - to->used;
    if (length > room)
        length = room;
    memcpy(to->bytes + to->used, from, length);
    to->used += length;
    to->bytes[to->used] = 0;
}

static bool is_name(char byte)
{
    return is_word(byte) || strchr("_-.", byte);
}

/* Counts the spaces at the start of the text. strspn is not used: with AddressSanitizer, GCC 12 warns of a read
 * beyond a constant string. */
static size_t spaces(const char *text)
{
    size_t count = 0;
    while (text[count] == ' ' || text[count] == '\t')
        count++;
    return count;
}

/* If the text begins with a name and its value (name=value, "name": "value"), returns the length of the name, and
 * sets *value to the start of the value. Else returns 0. The colons of "https://" and of "C++::names" do not begin a
 * value. */
static size_t pair(const char *text, const char **value)
{
    size_t length = 0;
    while (text[length] && is_name(text[length]))
        length++;
    const char *at = text + length;
    at += *at == '"' || *at == '\'';
    at += spaces(at);
    if (!length || (*at != '=' && *at != ':') || !strncmp(at, "://", 3) || at[1] == ':')
        return 0;
    *value = at + 1 + (at[1] == '=');
    *value += spaces(*value);
    return length;
}

/* The length of a value: up to its closing quote, or to a character that ends a value without quotes. header: the
 * value follows a colon, as in an HTTP header, and may contain spaces. */
static size_t value_length(const char *value, bool header)
{
    if (*value == '"' || *value == '\'') {
        const char *end = value + 1;
        while (*end && *end != *value)
            end += *end == '\\' && end[1] ? 2 : 1;
        return (size_t)(end + (*end != 0) - value);
    }
    return strcspn(value, header ? "\"'\r\n" : " \t\r\n\"'&;,)}]");
}

/* Does the URL's authority (user:password@host) contain a secret? text: the URL after "://". of_web: the URL begins
 * with http or https. *from, *length: where in text the secret is. */
static bool url_secret(const char *text, bool of_web, size_t *from, size_t *length)
{
    size_t word = strcspn(text, " \t\r\n\"'<>"), authority = strcspn(text, "/?# \t\r\n\"'<>");
    const char *at = memrchr(text, '@', authority);
    const char *colon = memchr(text, ':', at ? (size_t)(at - text) : authority);
    /* A slash in a password looks like the end of the authority. A port has only digits, so other text after the
     * colon counts as the beginning of a password. */
    if (!at && colon && colon + 1 + strspn(colon + 1, "0123456789") < text + authority)
        at = memrchr(text, '@', word);
    if (!at || (!colon && !of_web))
        return false;
    /* A user name without a password may be an access token, so it is hidden. */
    *from = colon ? (size_t)(colon + 1 - text) : 0;
    *length = (size_t)(at - text) - *from;
    return true;
}

/* If the text begins with a JSON web token, returns its length, else 0. Such a token has three parts of base64 with
 * dots between them, and the first part is JSON. */
static size_t web_token(const char *text)
{
    static const char *const base64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    size_t head = strncmp(text, "eyJ", 3) != 0 ? 0 : strspn(text, base64);
    if (!head || text[head] != '.')
        return 0;
    size_t body = strspn(text + head + 1, base64);
    return text[head + 1 + body] == '.' ? head + body + 2 + strspn(text + head + body + 2, base64) : 0;
}

/* If the text begins with "Bearer", spaces and something else, returns the length of "Bearer" and the spaces, else
 * 0. */
static size_t bearer(const char *text)
{
    static const char word[] = "Bearer";
    size_t length = sizeof(word) - 1;
    if (strncasecmp(text, word, length) != 0)
        return 0;
    size_t gap = spaces(text + length);
    return gap && text[length + gap] ? length + gap : 0;
}

/* If the text begins with "user:password@host", without a scheme such as "https://", returns the length of "user:",
 * else 0. */
static size_t user(const char *text)
{
    size_t name = 0;
    while (text[name] && is_name(text[name]))
        name++;
    size_t password = name && text[name] == ':' ? strcspn(text + name + 1, "@/ \t\r\n\"'") : 0;
    return password && text[name + 1 + password] == '@' && is_word(text[name + 2 + password]) ? name + 1 : 0;
}

/* Appends the next character, word or secret at *at to `to`, a secret as "***". Moves *at to what follows. */
static void step(struct text *to, const char *start, const char **at, const char *more_words)
{
    const char *text = *at, *value;
    bool begins = text == start || !is_name(text[-1]); /* the text at *at is the start of a word */
    size_t length = begins ? pair(text, &value) : 0, from, secret;
    if (length && secrets_named(text, length, more_words)) {
        bool header = memchr(text + length, ':', (size_t)(value - text) - length) != NULL;
        put(to, text, (size_t)(value - text));
        secret = value_length(value, header);
        *at = value + secret;
        if (secret)
            put(to, hidden, sizeof(hidden) - 1);
    } else if (begins && (length = bearer(text))) {
        put(to, text, length);
        put(to, hidden, sizeof(hidden) - 1);
        *at = text + length + strcspn(text + length, " \t\r\n\"',;");
    } else if (begins && (length = web_token(text))) {
        put(to, hidden, sizeof(hidden) - 1);
        *at = text + length;
    } else if (begins && (length = user(text))) {
        put(to, text, length);
        put(to, hidden, sizeof(hidden) - 1);
        *at = text + length + strcspn(text + length, "@");
    } else if (!strncmp(text, "://", 3)) {
        bool of_web = (text - start >= 4 && !strncasecmp(text - 4, "http", 4)) ||
                      (text - start >= 5 && !strncasecmp(text - 5, "https", 5));
        put(to, text, 3);
        *at = text + 3;
        if (url_secret(*at, of_web, &from, &secret)) {
            put(to, *at, from);
            put(to, hidden, sizeof(hidden) - 1);
            *at += from + secret;
        }
    } else {
        put(to, text, 1);
        *at = text + 1;
    }
}

size_t secrets_append(char *to, size_t used, size_t capacity, const char *text, const char *more_words)
{
    struct text out = { to, used, capacity };
    for (const char *at = text; *at;)
        step(&out, text, &at, more_words);
    return out.used;
}

/* --- command lines ----------------------------------------------------------------------------- */

/* Is this an authentication scheme, such as "Basic" in "Authorization:" "Basic" "x"? A scheme comes between a
 * header's name and its secret. */
static bool is_scheme(const char *argument)
{
    static const char *const schemes[] = { "Bearer", "Basic", "Digest", "Token", "Negotiate" };
    for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++)
        if (!strcasecmp(argument, schemes[i]))
            return true;
    return false;
}

/* Does this argument show that the next one is a secret? Arguments such as "--password", "Authorization:" and
 * "Bearer" do. */
static bool announces(const char *argument, const char *more_words)
{
    size_t length = strlen(argument);
    bool header = length && argument[length - 1] == ':';
    return ((*argument == '-' && !strchr(argument, '=')) || header || !strcasecmp(argument, "Bearer")) &&
           !strpbrk(argument, " \t") && secrets_named(argument, length, more_words);
}

/* Appends one argument of a command line. If the name before its first "=" is that of a secret, everything after the
 * "=" is hidden. In all other arguments, only secrets that are found inside the argument are hidden. */
static void put_argument(struct text *to, const char *argument, const char *more_words)
{
    const char *equals = strchr(argument, '=');
    size_t name = equals ? (size_t)(equals - argument) : 0;
    if (name && strcspn(argument, " :?/\"'{") >= name && secrets_named(argument, name, more_words)) {
        put(to, argument, name + 1);
        put(to, hidden, sizeof(hidden) - 1);
        return;
    }
    to->used = secrets_append(to->bytes, to->used, to->capacity, argument, more_words);
}

void secrets_command_line(char *to, size_t capacity, const char *arguments, size_t size, const char *more_words)
{
    struct text out = { to, 0, capacity };
    bool hide = false;
    *to = 0;
    for (const char *argument = arguments; argument < arguments + size; argument += strlen(argument) + 1) {
        if (argument > arguments)
            put(&out, " ", 1);
        bool announced = hide && !is_scheme(argument);
        hide = !announced && (hide || announces(argument, more_words));
        if (announced)
            put(&out, hidden, sizeof(hidden) - 1);
        else
            put_argument(&out, argument, more_words);
    }
}
