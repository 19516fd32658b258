/* Hashes, tokens and the file they are kept in. */
#include "http/auth.h"
#include "http/sha256.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static void expect_digest(struct adl_sha256 *hash, const char *wanted)
{
    uint8_t digest[ADL_SHA256_SIZE];
    char text[2 * ADL_SHA256_SIZE + 1];
    adl_sha256_end(hash, digest);
    for (size_t i = 0; i < sizeof digest; i++)
        snprintf(text + 2 * i, 3, "%02x", (unsigned)digest[i]);
    assert_string_equal(text, wanted);
}

/* The examples of FIPS 180-2, appendix B, and of NIST's SHA256ShortMsg.rsp. */
static void the_hash_agrees_with_the_vectors_of_nist(void **state)
{
    static const struct {
        const char *message, *digest;
    } vectors[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"\xd3", "28969cdfa74a12c82f3bad960b0b000aca2ac329deea5c2328ebc6f2ba9802c1"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
        {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqr"
         "stu",
         "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct adl_sha256 hash;
        adl_sha256_start(&hash);
        adl_sha256_add(&hash, vectors[i].message, strlen(vectors[i].message));
        expect_digest(&hash, vectors[i].digest);
    }
}

static void a_million_letters_hash_alike_in_pieces_of_any_size(void **state)
{
    static const char letters[] =
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    (void)state;
    for (size_t piece = 1; piece < sizeof letters; piece += 31) {
        struct adl_sha256 hash;
        adl_sha256_start(&hash);
        for (size_t left = 1000000; left > 0;) {
            const size_t taken = left < piece ? left : piece;
            adl_sha256_add(&hash, letters, taken);
            left -= taken;
        }
        expect_digest(&hash, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    }
}

static const char *own_name(void)
{
    const struct passwd *entry = getpwuid(geteuid());
    assert_non_null(entry);
    return entry->pw_name;
}

struct token_file {
    char path[64];
    char token[ADL_TOKEN_SIZE];
    char line[ADL_TOKEN_LINE_SIZE];
};

static void write_file(const char *path, const char *text, mode_t mode)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    fclose(file);
    assert_int_equal(chmod(path, mode), 0);
}

static int make_file(void **state)
{
    struct token_file *file = calloc(1, sizeof *file);
    struct adl_error err;
    assert_non_null(file);
    snprintf(file->path, sizeof file->path, "%s", "/tmp/adlro-tokens-XXXXXX");
    const int fd = mkstemp(file->path);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(adl_token_create(own_name(), 0, file->token, file->line, &err), ADL_OK);
    write_file(file->path, file->line, 0600);
    *state = file;
    return 0;
}

static int remove_file(void **state)
{
    struct token_file *file = *state;
    unlink(file->path);
    free(file);
    return 0;
}

static bool is_taken(struct adl_auth *auth, const char *token, struct adl_caller *ret)
{
    char header[256];
    snprintf(header, sizeof header, "Bearer %s", token);
    return adl_auth_bearer(auth, header, ret);
}

static void a_token_is_its_users_and_is_not_in_the_file(void **state)
{
    struct token_file *file = *state;
    struct adl_auth *auth = NULL;
    struct adl_error err;
    struct adl_caller caller = {0};
    assert_null(strstr(file->line, file->token + 13));
    assert_int_equal(adl_auth_create(NULL, file->path, &auth, &err), ADL_OK);
    assert_true(is_taken(auth, file->token, &caller));
    assert_true(caller.known);
    assert_int_equal(caller.account.uid, geteuid());
    assert_string_equal(caller.account.name, own_name());
    assert_true(caller.admin); /* the uid of the service */
    assert_false(adl_auth_bearer(auth, file->token, &caller));
    assert_false(adl_auth_bearer(auth, "Basic abc", &caller));
    assert_false(adl_auth_bearer(auth, "", &caller));
    for (size_t i = 0; i < ADL_TOKEN_SIZE - 1; i++) {
        struct adl_caller untouched = {0};
        char wrong[ADL_TOKEN_SIZE + 1];
        snprintf(wrong, sizeof wrong, "%s", file->token);
        wrong[i] = wrong[i] == '0' ? '1' : '0';
        assert_false(is_taken(auth, wrong, &untouched));
        assert_false(untouched.known);
        wrong[i] = '\0';
        assert_false(is_taken(auth, wrong, &untouched));
        snprintf(wrong, sizeof wrong, "%sa", file->token);
        assert_false(is_taken(auth, wrong, &untouched));
    }
    adl_auth_destroy(auth);
}

static void a_revoked_token_is_refused(void **state)
{
    struct token_file *file = *state;
    struct adl_auth *auth = NULL;
    struct adl_error err;
    struct adl_caller caller;
    assert_int_equal(adl_auth_create(NULL, file->path, &auth, &err), ADL_OK);
    write_file(file->path, "not a line of tokens\n", 0600);
    assert_int_equal(adl_auth_reload(auth, &err), ADL_EINVAL);
    assert_true(is_taken(auth, file->token, &caller)); /* what was in force stays */
    write_file(file->path, "# nobody\n\n   # at all\n", 0600);
    assert_int_equal(adl_auth_reload(auth, &err), ADL_OK);
    assert_false(is_taken(auth, file->token, &caller));
    adl_auth_destroy(auth);
}

static char said[2000];

static void listen_to(const char *text)
{
    snprintf(said + strlen(said), sizeof said - strlen(said), "%s\n", text);
}

static void a_token_of_an_account_that_is_gone_is_refused_and_the_others_work(void **state)
{
    struct token_file *file = *state;
    struct adl_auth *auth = NULL;
    struct adl_error err;
    struct adl_caller caller;
    char text[3 * ADL_TOKEN_LINE_SIZE], token[ADL_TOKEN_SIZE], line[ADL_TOKEN_LINE_SIZE], *name;
    assert_int_equal(adl_token_create("nobody", 0, token, line, &err), ADL_OK);
    name = strstr(line, "nobody");
    memcpy(name, "gone-1", 6);
    snprintf(text, sizeof text, "%s\n%s\n", line, file->line);
    write_file(file->path, text, 0600);
    assert_int_equal(adl_auth_create(NULL, file->path, &auth, &err), ADL_OK);
    said[0] = '\0';
    adl_auth_set_log(auth, listen_to);
    assert_non_null(strstr(said, "is refused: its user 'gone-1' is not known on this machine"));
    *name = '\0';
    name[-1] = '\0';
    assert_non_null(strstr(said, line)); /* the id */
    assert_null(strstr(strchr(said, '\n') + 1, "token "));
    assert_false(is_taken(auth, token, &caller));
    assert_true(is_taken(auth, file->token, &caller));
    adl_auth_destroy(auth);
}

static void a_token_is_valid_until_it_expires(void **state)
{
    struct token_file *file = *state;
    struct adl_auth *auth = NULL;
    struct adl_error err;
    struct adl_caller caller;
    char text[3 * ADL_TOKEN_LINE_SIZE], token[2][ADL_TOKEN_SIZE], line[2][ADL_TOKEN_LINE_SIZE];
    for (int i = 0; i < 2; i++)
        assert_int_equal(adl_token_create(own_name(), time(NULL) + (i == 0 ? 1000 : -1), token[i], line[i], &err),
                         ADL_OK);
    snprintf(text, sizeof text, "%s\n%s\n", line[0], line[1]);
    write_file(file->path, text, 0600);
    assert_int_equal(adl_auth_create(NULL, file->path, &auth, &err), ADL_OK);
    assert_true(is_taken(auth, token[0], &caller));
    assert_true(adl_auth_holds(auth, &caller));
    assert_false(is_taken(auth, token[1], &caller));
    memcpy(caller.token, token[1] + 4, 8);
    assert_false(adl_auth_holds(auth, &caller));
    adl_auth_destroy(auth);
}

/* Nobody calls adl_auth_reload() here. */
static void a_token_file_that_changes_is_read_again_by_itself(void **state)
{
    struct token_file *file = *state;
    struct adl_auth *auth = NULL;
    struct adl_error err;
    struct adl_caller caller;
    char token[ADL_TOKEN_SIZE], line[ADL_TOKEN_LINE_SIZE], id[9];
    snprintf(id, sizeof id, "%.8s", file->line);
    assert_int_equal(adl_auth_create(NULL, file->path, &auth, &err), ADL_OK);
    said[0] = '\0';
    adl_auth_set_log(auth, listen_to);
    assert_int_equal(adl_token_create("nobody", 0, token, line, &err), ADL_OK);
    assert_int_equal(adl_tokens_append(file->path, line, &err), ADL_OK); /* the line before has no line feed */
    assert_true(is_taken(auth, token, &caller));
    assert_true(is_taken(auth, file->token, &caller));
    const char *const absent[] = {id, "00000000"}, *const ids[] = {id};
    assert_int_equal(adl_tokens_revoke(file->path, absent, 2, &err), ADL_EABSENT);
    assert_true(is_taken(auth, file->token, &caller)); /* nothing was changed */
    assert_int_equal(adl_tokens_revoke(file->path, ids, 1, &err), ADL_OK);
    assert_false(adl_auth_holds(auth, &caller));
    assert_false(is_taken(auth, file->token, &caller));
    assert_true(is_taken(auth, token, &caller));
    assert_string_equal(said, "");
    for (int i = 0; i < 2; i++) { /* a file that is wrong is not put in force, and that is said once */
        if (i == 0)
            write_file(file->path, "nonsense\n", 0600);
        else
            unlink(file->path);
        said[0] = '\0';
        assert_true(is_taken(auth, token, &caller) && is_taken(auth, token, &caller));
        assert_non_null(strstr(said, "the tokens stay as they were: "));
        assert_null(strchr(strchr(said, '\n') + 1, '\n'));
    }
    write_file(file->path, file->line, 0600);
    assert_false(is_taken(auth, token, &caller));
    assert_true(is_taken(auth, file->token, &caller));
    adl_auth_destroy(auth);
}

static void a_file_that_others_can_read_is_refused(void **state)
{
    struct token_file *file = *state;
    struct adl_auth *auth = NULL;
    struct adl_error err = {{0}};
    static const mode_t modes[] = {0640, 0604, 0620, 0602, 0601, 0644};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        assert_int_equal(chmod(file->path, modes[i]), 0);
        assert_int_equal(adl_auth_create(NULL, file->path, &auth, &err), ADL_EINVAL);
        assert_non_null(strstr(err.text, "chmod 600"));
    }
    char link[80];
    assert_int_equal(chmod(file->path, 0600), 0);
    snprintf(link, sizeof link, "%s.link", file->path);
    assert_int_equal(symlink(file->path, link), 0);
    assert_int_equal(adl_auth_create(NULL, link, &auth, &err), ADL_EIO);
    unlink(link);
    assert_int_equal(adl_auth_create(NULL, "/tmp", &auth, &err), ADL_EINVAL);
    assert_int_equal(adl_auth_create(NULL, "/nowhere/tokens", &auth, &err), ADL_EIO);
    assert_int_equal(adl_auth_create("no-such-group-here", NULL, &auth, &err), ADL_EINVAL);
    assert_null(auth);
    if (geteuid() == 0) {
        assert_int_equal(chown(file->path, 65534, 65534), 0);
        assert_int_equal(adl_auth_create(NULL, file->path, &auth, &err), ADL_EINVAL);
    }
}

static void a_malformed_line_is_named_but_not_shown(void **state)
{
    struct token_file *file = *state;
    struct adl_auth *auth = NULL;
    char text[3 * ADL_TOKEN_LINE_SIZE];
    struct adl_error err = {{0}};
    char *hash = strchr(file->line, ' ');
    for (int i = 0; i < 2; i++)
        hash = strchr(hash + 1, ' ');
    for (int kind = 0; kind < 5; kind++) {
        static const char *const ends[] = {"", " extra", "", " expires=tomorrow", ""};
        char bad[ADL_TOKEN_LINE_SIZE + 32];
        snprintf(bad, sizeof bad, "%s%s", file->line + (kind == 0 ? 1 : 0), ends[kind]);
        if (kind == 2)
            bad[0] = 'G';
        snprintf(text, sizeof text, "# first\n%s\n%s\n", kind == 4 ? file->line : "", bad);
        write_file(file->path, text, 0600);
        assert_int_equal(adl_auth_create(NULL, file->path, &auth, &err), ADL_EINVAL);
        char where[80];
        snprintf(where, sizeof where, "%s:3: ", file->path);
        assert_ptr_equal(strstr(err.text, where), err.text);
        char secret[ADL_TOKEN_LINE_SIZE];
        snprintf(secret, sizeof secret, "%.64s", hash + 1);
        assert_null(strstr(err.text, secret));
    }
}

static void the_groups_of_a_peer_make_an_administrator(void **state)
{
    struct adl_account account;
    struct adl_error err;
    int pair[2];
    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    assert_int_equal(adl_account_of_socket(pair[0], getegid(), &account, &err), ADL_OK);
    assert_true(account.in_group);
    assert_int_equal(account.uid, geteuid());
    assert_int_equal(account.pid, getpid());
    assert_int_equal(adl_account_of_socket(pair[0], (gid_t)54321, &account, &err), ADL_OK);
    assert_false(account.in_group);
    assert_int_equal(adl_account_of_socket(pair[0], ADL_ACCOUNT_NO_GROUP, &account, &err), ADL_OK);
    assert_false(account.in_group);
    close(pair[0]);
    close(pair[1]);
    const gid_t before = getegid();
    for (int count = 2; geteuid() == 0 && count <= 1002; count += 500) { /* as a supplementary group only, the last */
        gid_t groups[1002];
        for (int i = 0; i < count; i++)
            groups[i] = i == 0 ? before : (gid_t)(54321 - (count - 1) + i);
        assert_int_equal(setgroups((size_t)count, groups), 0);
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
        assert_int_equal(adl_account_of_socket(pair[0], (gid_t)54321, &account, &err), ADL_OK);
        assert_true(account.in_group);
        close(pair[0]);
        close(pair[1]);
        assert_int_equal(setgroups(1, &before), 0);
    }
}

static void a_name_is_looked_up_with_its_groups(void **state)
{
    struct adl_account account;
    struct adl_error err;
    (void)state;
    assert_int_equal(adl_account_of_name(own_name(), getpwuid(geteuid())->pw_gid, &account, &err), ADL_OK);
    assert_true(account.in_group);
    assert_int_equal(adl_account_of_name("no-such-user-here", 0, &account, &err), ADL_EINVAL);
    char token[ADL_TOKEN_SIZE], line[ADL_TOKEN_LINE_SIZE];
    assert_int_equal(adl_token_create("no-such-user-here", 0, token, line, &err), ADL_EINVAL);
}

#define with_file(test) cmocka_unit_test_setup_teardown(test, make_file, remove_file)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_hash_agrees_with_the_vectors_of_nist),
        cmocka_unit_test(a_million_letters_hash_alike_in_pieces_of_any_size),
        with_file(a_token_is_its_users_and_is_not_in_the_file),
        with_file(a_revoked_token_is_refused),
        with_file(a_token_of_an_account_that_is_gone_is_refused_and_the_others_work),
        with_file(a_token_is_valid_until_it_expires),
        with_file(a_token_file_that_changes_is_read_again_by_itself),
        with_file(a_file_that_others_can_read_is_refused),
        with_file(a_malformed_line_is_named_but_not_shown),
        cmocka_unit_test(the_groups_of_a_peer_make_an_administrator),
        cmocka_unit_test(a_name_is_looked_up_with_its_groups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
