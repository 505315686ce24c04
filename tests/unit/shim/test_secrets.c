/* Tests of shim/drain/secrets: which parts of command lines and of environment values the shim records, and which it
 * hides. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "shim/drain/secrets.h"

static void names(void **state)
{
    (void)state;
    static const char *const secret[] = {
        "CUDA_API_KEY",    "hf_token",     "GITHUB_PAT",   "--pat",       "gh-pat-file", "PGPASSWORD",
        "MYSQL_PWD",       "DB_PASS",      "SSHPASS",      "SESSION_JWT", "BEARER",      "Cookie",
        "KEY_PASSPHRASE",  "X-Auth-User",  "env.NCCL_PAT", "PINEAPPLES",  "sig",         "X-Amz-Signature",
        "TOKEN_TOKENIZER", "--my-mango-x", "CREDENTIALS"
    };
    static const char *const plain[] = { "CUDA_PATH",
                                         "PATH",
                                         "--pattern",
                                         "PATCH_SIZE",
                                         "--passes",
                                         "PASSENGERS",
                                         "SPATIAL",
                                         "--pwdir",
                                         "OMP_NUM_THREADS",
                                         "--tokenizer",
                                         "TOKENIZERS_PARALLELISM",
                                         "design" };
    for (size_t i = 0; i < sizeof(secret) / sizeof(secret[0]); i++)
        if (!secrets_named(secret[i], strlen(secret[i]), "pineapple,,mango"))
            fail_msg("%s is no secret", secret[i]);
    for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
        if (secrets_named(plain[i], strlen(plain[i]), ""))
            fail_msg("%s is a secret", plain[i]);
}

struct row {
    const char *text, *kept;
};

static void texts(void **state)
{
    (void)state;
    static const struct row rows[] = {
        { "", "" },
        { "train.py", "train.py" },
        { "postgres://me:hunter2@db:5432/x", "postgres://me:***@db:5432/x" },
        { "redis://:hunter2@cache", "redis://:***@cache" },
        { "x=ftp://a:b:c@d/e@f", "x=ftp://a:***@d/e@f" },
        { "amqp://me:pass/word@mq", "amqp://me:***@mq" },
        { "https://ghp_abc@github.com/x", "https://***@github.com/x" },
        { "ssh://git@github.com/x", "ssh://git@github.com/x" },
        { "http://localhost:8080/a@b", "http://localhost:8080/a@b" },
        { "http://[::1]:80/", "http://[::1]:80/" },
        { "see http://a:b@c, then HTTP://d:e@f", "see http://a:***@c, then HTTP://d:***@f" },
        { "me:hunter2@tcp(db:3306)/x", "me:***@tcp(db:3306)/x" },
        { "me@host:path", "me@host:path" },
        { "http://x/?api_key=hunter2&b=1", "http://x/?api_key=***&b=1" },
        { "https://x.blob.core.windows.net/y?sv=2024&sig=hunter2",
          "https://x.blob.core.windows.net/y?sv=2024&sig=***" },
        { "Authorization: Bearer hunter2", "Authorization: ***" },
        { "authorization:Basic aHVudGVyMg==", "authorization:***" },
        { "--header=X-Api-Key: hunter2", "--header=X-Api-Key: ***" },
        { "curl -H 'Authorization: Bearer hunter2' http://x", "curl -H 'Authorization: ***' http://x" },
        { "use bearer hunter2, please", "use bearer ***, please" },
        { "the bearer", "the bearer" },
        { "{\"token\": \"hunt\\\"er2\", \"n\": 1}", "{\"token\": ***, \"n\": 1}" },
        { "export DB_PASS=hunter2; python x.py", "export DB_PASS=***; python x.py" },
        { "PGPASSWORD='hunter 2' psql", "PGPASSWORD=*** psql" },
        { "jwt = hunter2", "jwt = ***" },
        { "id eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln-_ end", "id *** end" },
        { "eyJust.a.file", "***" },
        { "eyJ", "eyJ" },
        { "std::key::value", "std::key::value" },
        { "lr=0.1,momentum=0.9", "lr=0.1,momentum=0.9" },
        { "://", "://" },
        { "://a:b@c", "://a:***@c" },
        { "key=", "key=" },
        { "key='", "key=***" },
        { "password", "password" },
    };
    char out[256];
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        size_t used = secrets_append(out, 0, sizeof(out), rows[i].text, "");
        if (!*rows[i].text) /* an empty text appends nothing */
            continue;
        assert_string_equal(out, rows[i].kept);
        assert_int_equal(used, strlen(out));
    }
}

/* In these rows '|' separates the arguments. */
static void command_lines(void **state)
{
    (void)state;
    static const struct row rows[] = {
        { "python|train.py|--lr=0.1", "python train.py --lr=0.1" },
        { "x|--password|hunter2|y", "x --password *** y" },
        { "x|--db-pass|hunter2|--gh-pat=hunter2|y", "x --db-pass *** --gh-pat=*** y" },
        { "x|--passphrase|hunter 2", "x --passphrase ***" },
        { "x|--token=a b&c|y", "x --token=*** y" },
        { "x|API_KEY=a;b|y", "x API_KEY=*** y" },
        { "curl|-H|Authorization: Bearer hunter2|u", "curl -H Authorization: *** u" },
        { "curl|--header=Authorization: Bearer hunter2|u", "curl --header=Authorization: *** u" },
        { "x|Authorization:|Bearer|hunter2|y", "x Authorization: Bearer *** y" },
        { "x|Authorization:|Basic|hunter2|y", "x Authorization: Basic *** y" },
        { "x|Authorization:|hunter2|y", "x Authorization: *** y" },
        { "x|bearer|hunter2|y", "x bearer *** y" },
        { "x|--url|https://me:hunter2@h/p|y", "x --url https://me:***@h/p y" },
        { "x|--url=https://me:hunter2@h/p?key=hunter2", "x --url=https://me:***@h/p?key=***" },
        { "sh|-c|HF_TOKEN=hunter2 python x.py", "sh -c HF_TOKEN=***" },
        { "sh|-c|cd /x; HF_TOKEN=hunter2 python x.py", "sh -c cd /x; HF_TOKEN=*** python x.py" },
        { "x|--api-key", "x --api-key" },
        { "x|--secret|--secret|y", "x --secret *** y" },
    };
    char arguments[256], out[256];
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        size_t size = strlen(rows[i].text) + 1;
        memcpy(arguments, rows[i].text, size);
        for (size_t at = 0; at < size; at++)
            if (arguments[at] == '|')
                arguments[at] = 0;
        secrets_command_line(out, sizeof(out), arguments, size, "");
        assert_string_equal(out, rows[i].kept);
    }
}

static void what_does_not_fit_is_left_out(void **state)
{
    (void)state;
    static const char arguments[] = "program\0--password\0hunter2\0http://me:hunter2@h";
    char out[64];
    for (size_t capacity = 1; capacity < sizeof(out); capacity++) {
        memset(out, '!', sizeof(out));
        secrets_command_line(out, capacity, arguments, sizeof(arguments), "");
        assert_true(strlen(out) < capacity);
        assert_null(strstr(out, "hunter"));
        for (size_t i = capacity; i < sizeof(out); i++)
            assert_int_equal(out[i], '!');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),
        cmocka_unit_test(texts),
        cmocka_unit_test(command_lines),
        cmocka_unit_test(what_does_not_fit_is_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
