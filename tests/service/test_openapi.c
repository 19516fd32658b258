/* The OpenAPI document: it describes exactly the routes there are, and what they answer is what it says. */
#include "routes_fixture.h"

#include "service/assets.h"

#include <math.h>

static cJSON *document;

static int open_document(void **state)
{
    (void)state;
    for (size_t i = 0; i < adl_web_asset_count; i++)
        if (strcmp(adl_web_assets[i].name, "openapi.json") == 0)
            document = cJSON_ParseWithLength(adl_web_assets[i].asset.data, adl_web_assets[i].asset.size);
    return document ? 0 : -1;
}

static int close_document(void **state)
{
    (void)state;
    cJSON_Delete(document);
    return 0;
}

/* What "#/components/schemas/Job" points to, or NULL. */
static const cJSON *resolve(const char *reference)
{
    char path[200];
    const cJSON *at = document;
    if (strncmp(reference, "#/", 2) != 0 || strlen(reference) >= sizeof path)
        return NULL;
    snprintf(path, sizeof path, "%s", reference + 2);
    for (char *part = path, *end; at && *part; part = end) {
        end = part + strcspn(part, "/");
        if (*end)
            *end++ = '\0';
        at = cJSON_GetObjectItemCaseSensitive(at, part);
    }
    return at;
}

static const cJSON *follow(const cJSON *node)
{
    const cJSON *reference = cJSON_GetObjectItemCaseSensitive(node, "$ref");
    const cJSON *found = reference ? resolve(reference->valuestring) : node;
    if (!found)
        fail_msg("%s points nowhere", reference->valuestring);
    return found;
}

/* ---- a validator of what the document uses of JSON Schema ---- */

struct trouble {
    char path[400];
    char text[200];
};

static bool complain(struct trouble *trouble, const char *text, const char *what)
{
    snprintf(trouble->text, sizeof trouble->text, "%s%s", text, what);
    return false;
}

static bool has_type(const cJSON *value, const char *type)
{
    if (strcmp(type, "integer") == 0)
        return cJSON_IsNumber(value) && value->valuedouble == floor(value->valuedouble);
    return (strcmp(type, "object") == 0 && cJSON_IsObject(value)) ||
           (strcmp(type, "array") == 0 && cJSON_IsArray(value)) ||
           (strcmp(type, "string") == 0 && cJSON_IsString(value)) ||
           (strcmp(type, "boolean") == 0 && cJSON_IsBool(value)) ||
           (strcmp(type, "number") == 0 && cJSON_IsNumber(value));
}

static bool is_in_enum(const cJSON *value, const cJSON *values)
{
    for (const cJSON *one = values->child; one; one = one->next)
        if (cJSON_Compare(one, value, true))
            return true;
    return false;
}

static bool conforms(const cJSON *value, const cJSON *schema, struct trouble *trouble);

static bool object_conforms(const cJSON *value, const cJSON *schema, struct trouble *trouble)
{
    const cJSON *properties = cJSON_GetObjectItemCaseSensitive(schema, "properties"), *one;
    cJSON_ArrayForEach(one, cJSON_GetObjectItemCaseSensitive(schema, "required"))
    {
        if (!cJSON_GetObjectItemCaseSensitive(value, one->valuestring))
            return complain(trouble, "lacks ", one->valuestring);
    }
    cJSON_ArrayForEach(one, value)
    {
        const cJSON *described = cJSON_GetObjectItemCaseSensitive(properties, one->string);
        const size_t length = strlen(trouble->path);
        if (!described && cJSON_IsFalse(cJSON_GetObjectItemCaseSensitive(schema, "additionalProperties")))
            return complain(trouble, "has what is not described: ", one->string);
        snprintf(trouble->path + length, sizeof trouble->path - length, ".%s", one->string);
        if (described && !conforms(one, described, trouble))
            return false;
        trouble->path[length] = '\0';
    }
    return true;
}

static bool array_conforms(const cJSON *value, const cJSON *items, struct trouble *trouble)
{
    const size_t length = strlen(trouble->path);
    const cJSON *one;
    int index = 0;
    cJSON_ArrayForEach(one, value)
    {
        snprintf(trouble->path + length, sizeof trouble->path - length, "[%d]", index++);
        if (!conforms(one, items, trouble))
            return false;
        trouble->path[length] = '\0';
    }
    return true;
}

static bool conforms(const cJSON *value, const cJSON *described, struct trouble *trouble)
{
    const cJSON *schema = follow(described), *one, *of;
    const cJSON *type = cJSON_GetObjectItemCaseSensitive(schema, "type");
    if (cJSON_IsNull(value) && cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(schema, "nullable")))
        return true;
    if ((of = cJSON_GetObjectItemCaseSensitive(schema, "oneOf"))) {
        cJSON_ArrayForEach(one, of)
        {
            if (conforms(value, one, trouble))
                return true;
        }
        return complain(trouble, "is none of those in oneOf", "");
    }
    if (!type || !has_type(value, type->valuestring))
        return complain(trouble, "is not of type ", type ? type->valuestring : "(none)");
    if ((one = cJSON_GetObjectItemCaseSensitive(schema, "enum")) && !is_in_enum(value, one))
        return complain(trouble, "is not in the enum: ", cJSON_IsString(value) ? value->valuestring : "");
    if ((one = cJSON_GetObjectItemCaseSensitive(schema, "minimum")) && value->valuedouble < one->valuedouble)
        return complain(trouble, "is below the minimum", "");
    if ((one = cJSON_GetObjectItemCaseSensitive(schema, "maximum")) && value->valuedouble > one->valuedouble)
        return complain(trouble, "is above the maximum", "");
    if (cJSON_IsObject(value))
        return object_conforms(value, schema, trouble);
    if (cJSON_IsArray(value))
        return array_conforms(value, cJSON_GetObjectItemCaseSensitive(schema, "items"), trouble);
    return true;
}

static void assert_conforms(const cJSON *value, const cJSON *schema, const char *what)
{
    struct trouble trouble = {{0}, {0}};
    if (!conforms(value, schema, &trouble))
        fail_msg("%s: answer%s %s", what, trouble.path, trouble.text);
}

static void the_validator_finds_what_is_wrong(void **state)
{
    static const char *const cases[][2] = {
        {"{\"user\":\"a\",\"uid\":1,\"admin\":true}", ""},
        {"{\"user\":\"a\",\"uid\":1}", "lacks admin"},
        {"{\"user\":\"a\",\"uid\":1,\"admin\":1}", "is not of type boolean"},
        {"{\"user\":\"a\",\"uid\":1.5,\"admin\":true}", "is not of type integer"},
        {"{\"user\":\"a\",\"uid\":-1,\"admin\":true}", "is below the minimum"},
        {"{\"user\":null,\"uid\":1,\"admin\":true}", "is not of type string"},
        {"{\"user\":\"a\",\"uid\":1,\"admin\":true,\"more\":1}", "has what is not described: more"},
        {"[]", "is not of type object"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct trouble trouble = {{0}, {0}};
        cJSON *value = cJSON_Parse(cases[i][0]);
        assert_int_equal(conforms(value, resolve("#/components/schemas/Who"), &trouble), cases[i][1][0] == '\0');
        assert_string_equal(trouble.text, cases[i][1]);
        cJSON_Delete(value);
    }
}

/* ---- the document itself ---- */

static void assert_references(const cJSON *node)
{
    const cJSON *child;
    cJSON_ArrayForEach(child, node)
    {
        if (child->string && strcmp(child->string, "$ref") == 0)
            assert_non_null(follow(node));
        assert_references(child);
    }
}

static void every_reference_points_somewhere(void **state)
{
    (void)state;
    assert_string_equal(routes_string(document, "openapi"), "3.0.3");
    assert_true(strlen(routes_string(routes_member(document, "info"), "title")) > 0);
    assert_references(document);
}

static void every_required_key_is_a_property_and_every_example_conforms(void **state)
{
    const cJSON *schema, *required;
    (void)state;
    cJSON_ArrayForEach(schema, resolve("#/components/schemas"))
    {
        cJSON_ArrayForEach(required, cJSON_GetObjectItemCaseSensitive(schema, "required"))
        {
            assert_non_null(
                cJSON_GetObjectItemCaseSensitive(routes_member(schema, "properties"), required->valuestring));
        }
        const cJSON *example = cJSON_GetObjectItemCaseSensitive(schema, "example");
        if (example)
            assert_conforms(example, schema, schema->string);
    }
}

static const cJSON *operation(const char *pattern, const char *method)
{
    char lower[16];
    size_t i = 0;
    for (; method[i] && i + 1 < sizeof lower; i++)
        lower[i] = (char)(method[i] - 'A' + 'a');
    lower[i] = '\0';
    return cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(routes_member(document, "paths"), pattern),
                                            lower);
}

/* Each name in braces is described, and nothing else is said to be in the path. */
static void assert_path_parameters(const cJSON *described, const char *pattern)
{
    const cJSON *parameter;
    int braces = 0, parameters = 0;
    for (const char *c = pattern; *c; c++)
        braces += *c == '{';
    cJSON_ArrayForEach(parameter, cJSON_GetObjectItemCaseSensitive(described, "parameters"))
    {
        char name[40];
        snprintf(name, sizeof name, "{%s}", routes_string(parameter, "name"));
        if (strcmp(routes_string(parameter, "in"), "path") != 0)
            continue;
        parameters++;
        assert_non_null(strstr(pattern, name));
        assert_true(cJSON_IsTrue(routes_member(parameter, "required")));
    }
    assert_int_equal(parameters, braces);
}

static void the_document_has_exactly_the_routes_of_the_table(void **state)
{
    uint32_t count, described = 0;
    const struct adl_route *routes = adl_routes(&count);
    struct adl_error err = {{0}};
    const cJSON *path;
    (void)state;
    if (adl_routes_check(routes, count, &err) < 0)
        fail_msg("%s", err.text);
    for (uint32_t i = 0; i < count; i++) {
        const cJSON *it = operation(routes[i].pattern, routes[i].method);
        if (!it)
            fail_msg("%s %s is not described", routes[i].method, routes[i].pattern);
        assert_path_parameters(it, routes[i].pattern);
        assert_int_equal(cJSON_GetObjectItemCaseSensitive(it, "requestBody") != NULL, routes[i].body != ADL_BODY_NONE);
        assert_int_equal(cJSON_GetObjectItemCaseSensitive(it, "security") != NULL, routes[i].need == ADL_NEED_ANYONE);
        if (routes[i].need == ADL_NEED_ADMIN)
            assert_non_null(cJSON_GetObjectItemCaseSensitive(routes_member(it, "responses"), "403"));
    }
    for (path = routes_member(document, "paths")->child; path; path = path->next)
        described += (uint32_t)cJSON_GetArraySize(path);
    assert_int_equal(described, count);
}

/* As `METHOD /pattern`. */
static void the_page_for_people_has_every_route(void **state)
{
    static char page[65536];
    uint32_t count;
    const struct adl_route *routes = adl_routes(&count);
    FILE *file = fopen(ADL_SOURCE_DIR "/docs/rest.md", "r");
    (void)state;
    assert_non_null(file);
    page[fread(page, 1, sizeof page - 1, file)] = '\0';
    fclose(file);
    for (uint32_t i = 0; i < count; i++) {
        char words[80];
        snprintf(words, sizeof words, "`%s %s`", routes[i].method, routes[i].pattern);
        if (!strstr(page, words))
            fail_msg("docs/rest.md does not have %s", words);
    }
    for (const cJSON *key = routes_member(resolve("#/components/schemas/Submission"), "properties")->child; key;
         key = key->next) {
        char words[40];
        snprintf(words, sizeof words, "`%s`", key->string);
        if (!strstr(page, words))
            fail_msg("docs/rest.md does not have %s", words);
    }
}

static int count_operations(const char *id)
{
    int count = 0;
    for (const cJSON *path = routes_member(document, "paths")->child; path; path = path->next)
        for (const cJSON *one = path->child; one; one = one->next)
            count += strcmp(routes_string(one, "operationId"), id) == 0;
    return count;
}

static void operations_have_names_of_their_own(void **state)
{
    (void)state;
    for (const cJSON *path = routes_member(document, "paths")->child; path; path = path->next)
        for (const cJSON *one = path->child; one; one = one->next) {
            assert_int_equal(count_operations(routes_string(one, "operationId")), 1);
            assert_true(strlen(routes_string(one, "summary")) > 0);
        }
}

/* ---- what is answered ---- */

/* The schema of a JSON answer; the document may say "default". */
static const cJSON *answer_schema(const char *pattern, const char *method, int status)
{
    char code[8];
    snprintf(code, sizeof code, "%d", status);
    const cJSON *responses = routes_member(operation(pattern, method), "responses");
    const cJSON *response = cJSON_GetObjectItemCaseSensitive(responses, code);
    response = follow(response ? response : routes_member(responses, "default"));
    return routes_member(routes_member(routes_member(response, "content"), "application/json"), "schema");
}

static void what_the_routes_answer_is_what_the_document_says(void **state)
{
    static const char fine[] = "{\"command\":[\"a\"],\"directory\":\"/\"}";
    static const struct {
        const char *method, *path, *pattern, *body;
        int status;
    } cases[] = {
        {"GET", "/healthz", "/healthz", NULL, 200},
        {"GET", "/v1/whoami", "/v1/whoami", NULL, 200},
        {"GET", "/v1/jobs", "/v1/jobs", NULL, 200},
        {"GET", "/v1/jobs?state=all", "/v1/jobs", NULL, 200},
        {"GET", "/v1/jobs?limit=0", "/v1/jobs", NULL, 400},
        {"GET", "/v1/jobs/1", "/v1/jobs/{id}", NULL, 200},
        {"GET", "/v1/jobs/2", "/v1/jobs/{id}", NULL, 200},
        {"GET", "/v1/jobs/3", "/v1/jobs/{id}", NULL, 200},
        {"GET", "/v1/jobs/4_7", "/v1/jobs/{id}", NULL, 200},
        {"GET", "/v1/jobs/5", "/v1/jobs/{id}", NULL, 200},
        {"GET", "/v1/jobs/6", "/v1/jobs/{id}", NULL, 200},
        {"GET", "/v1/jobs/9999", "/v1/jobs/{id}", NULL, 404},
        {"GET", "/v1/jobs/1/events", "/v1/jobs/{id}/events", NULL, 200},
        {"GET", "/v1/jobs/1/events?limit=1", "/v1/jobs/{id}/events", NULL, 200},
        {"GET", "/v1/jobs?state=ended&order=end", "/v1/jobs", NULL, 200},
        {"GET", "/v1/jobs/1/timeline", "/v1/jobs/{id}/timeline", NULL, 200},
        {"GET", "/v1/jobs/6/timeline", "/v1/jobs/{id}/timeline", NULL, 200},
        {"GET", "/v1/jobs/9999/timeline", "/v1/jobs/{id}/timeline", NULL, 404},
        {"GET", "/v1/gpus/0/history", "/v1/gpus/{gpu}/history", NULL, 200},
        {"GET", "/v1/gpus/GPU-7/history", "/v1/gpus/{gpu}/history", NULL, 404},
        {"GET", "/v1/gpus/0/history?limit=101", "/v1/gpus/{gpu}/history", NULL, 400},
        {"GET", "/v1/users", "/v1/users", NULL, 200},
        {"GET", "/v1/users?minutes=0", "/v1/users", NULL, 400},
        {"GET", "/v1/jobs/1/blockers", "/v1/jobs/{id}/blockers", NULL, 200},
        {"GET", "/v1/jobs/2/blockers", "/v1/jobs/{id}/blockers", NULL, 200},
        {"GET", "/v1/jobs/5/blockers", "/v1/jobs/{id}/blockers", NULL, 409},
        {"GET", "/v1/cluster", "/v1/cluster", NULL, 200},
        {"GET", "/v1/health", "/v1/health", NULL, 200},
        {"GET", "/v1/history", "/v1/history", NULL, 200},
        {"GET", "/v1/decisions", "/v1/decisions", NULL, 200},
        {"GET", "/v1/policies", "/v1/policies", NULL, 200},
        {"GET", "/v1/openapi.json", "/v1/openapi.json", NULL, 200},
        {"GET", "/assets/none", "/assets/{name}", NULL, 404},
        {"POST", "/v1/jobs?dry_run=1", "/v1/jobs", fine, 200},
        {"POST", "/v1/jobs", "/v1/jobs", fine, 201},
        {"POST", "/v1/jobs", "/v1/jobs", "{}", 400},
        {"PATCH", "/v1/jobs/2", "/v1/jobs/{id}", "{\"priority\":0.1}", 200},
        {"POST", "/v1/jobs/2/hold", "/v1/jobs/{id}/hold", NULL, 200},
        {"POST", "/v1/jobs/2/release", "/v1/jobs/{id}/release", NULL, 200},
        {"POST", "/v1/jobs/2/requeue", "/v1/jobs/{id}/requeue", NULL, 409},
        {"POST", "/v1/jobs/1/progress", "/v1/jobs/{id}/progress", "{\"step\":4,\"steps\":10}", 200},
        {"POST", "/v1/jobs/1/progress", "/v1/jobs/{id}/progress", "{\"step\":-4}", 400},
        {"DELETE", "/v1/jobs/2", "/v1/jobs/{id}", NULL, 200},
        {"DELETE", "/v1/jobs/1", "/v1/jobs/{id}", NULL, 200},
        {"DELETE", "/v1/jobs/5", "/v1/jobs/{id}", NULL, 409},
        {"POST", "/v1/gpus/0/drain", "/v1/gpus/{gpu}/drain", "{\"reason\":\"fan\"}", 200},
        {"POST", "/v1/gpus/0/resume", "/v1/gpus/{gpu}/resume", NULL, 200},
        {"POST", "/v1/nodes/box/drain", "/v1/nodes/{name}/drain", NULL, 200},
        {"POST", "/v1/nodes/box/resume", "/v1/nodes/{name}/resume", NULL, 200},
        {"GET", "/v1/shadow", "/v1/shadow", NULL, 200},
        {"POST", "/v1/shadow", "/v1/shadow", "{\"policy\":\"sjf\",\"days\":3}", 200},
        {"POST", "/v1/shadow", "/v1/shadow", "{\"policy\":\"sjf\",\"gate\":\"open\"}", 400},
        {"DELETE", "/v1/shadow", "/v1/shadow", NULL, 200},
        {"POST", "/v1/promote", "/v1/promote", "{\"force\":true}", 200},
        {"POST", "/v1/reload", "/v1/reload", NULL, 200},
        {"GET", "/v1/belief", "/v1/belief", NULL, 200},
        {"POST", "/v1/belief", "/v1/belief", "{\"belief\":\"41444c\"}", 200},
        {"POST", "/v1/belief", "/v1/belief", "{\"belief\":\"4\"}", 400},
        {"POST", "/v1/belief", "/v1/belief", "{\"belief\":\"4x\"}", 400},
        {"POST", "/v1/whatif", "/v1/whatif", "{}", 400},
        {"POST", "/v1/whatif", "/v1/whatif", "{\"job\":9999}", 404},
        {"POST", "/v1/whatif", "/v1/whatif", "{\"policy\":\"sjf\"}", 503},
    };
    struct routes_fixture *f = routes_open(true);
    (void)state;
    f->shared.points[0] =
        (struct adl_point){.time_us = ROUTES_NOW_US, .utilization = -1, .power_w = -1, .energy_j = -1};
    f->shared.decisions[0] = (struct adl_decision){.sequence = 3, .time_us = ROUTES_NOW_US, .job = 1, .what = "start"};
    f->shared.point_count = f->shared.decision_count = 1;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cJSON *answer = routes_json(f, cases[i].method, cases[i].path, cases[i].body, cases[i].status);
        char what[80];
        snprintf(what, sizeof what, "%s %s", cases[i].method, cases[i].path);
        assert_conforms(answer, answer_schema(cases[i].pattern, cases[i].method, cases[i].status), what);
        cJSON_Delete(answer);
    }
    routes_close(f);
}

/* What the reader of submissions takes and what the document offers are the same keys. */
static void every_key_of_a_submission_is_described(void **state)
{
    const cJSON *properties = routes_member(resolve("#/components/schemas/Submission"), "properties"), *property;
    const struct adl_account account = {.uid = 1, .name = "ann"};
    (void)state;
    cJSON_ArrayForEach(property, properties)
    {
        struct adl_submission *submission = NULL;
        struct adl_error err = {{0}};
        cJSON *body = cJSON_CreateObject();
        assert_non_null(cJSON_AddObjectToObject(body, property->string)); /* no key takes an object */
        assert_int_equal(adl_submission_read(body, &account, 1, &submission, &err), ADL_EINVAL);
        if (strstr(err.text, "is not a key"))
            fail_msg("%s", err.text);
        cJSON_Delete(body);
    }
    assert_int_equal(cJSON_GetArraySize(properties), 35);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_validator_finds_what_is_wrong),
        cmocka_unit_test(every_reference_points_somewhere),
        cmocka_unit_test(every_required_key_is_a_property_and_every_example_conforms),
        cmocka_unit_test(the_document_has_exactly_the_routes_of_the_table),
        cmocka_unit_test(the_page_for_people_has_every_route),
        cmocka_unit_test(operations_have_names_of_their_own),
        cmocka_unit_test(every_key_of_a_submission_is_described),
        cmocka_unit_test(what_the_routes_answer_is_what_the_document_says),
    };
    return cmocka_run_group_tests(tests, open_document, close_document);
}
