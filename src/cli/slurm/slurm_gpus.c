/* slurm_gpus: whether slurm.conf and gres.conf name the types of the GPUs that adlro is to schedule. */
#include "base/index.h"
#include "base/suggest.h"
#include "cli/slurm/slurm_check.h"
#include "executor/slurm/hostlist.h"

#include <stdlib.h>
#include <string.h>

#define OK     ADL_FINDING_OK
#define WARN   ADL_FINDING_WARN
#define CHANGE ADL_FINDING_CHANGE

/* What is known of the GPUs of each node. */
struct known {
    struct adl_slurm_check *check;
    struct adl_layout_gpus *stated;      /* in slurm.conf */
    struct adl_layout_gpus *listed;      /* in gres.conf */
    char (*given)[ADL_LAYOUT_TYPE_SIZE]; /* by --types */
    bool *covered;                       /* gres.conf lists its GPUs, or has them detected */
    bool *checked;                       /* by line of slurm.conf */
    size_t line;                         /* of gres.conf, being read */
    const char *type;
    bool detects_all;
};

static size_t node_count(const struct known *known)
{
    return known->check->layout.node_count;
}

/* ---- what is known ---- */

static void take_line(struct known *known, uint32_t node)
{
    const struct adl_slurm_conf *gres = &known->check->gres;
    const struct adl_slurm_setting *name = adl_slurm_line_find(gres, known->line, "Name");
    const struct adl_slurm_setting *type = adl_slurm_line_find(gres, known->line, "Type");
    const struct adl_slurm_setting *detect = adl_slurm_line_find(gres, known->line, "AutoDetect");
    if (detect && !adl_slurm_same(detect->value, "off"))
        known->covered[node] = true;
    if (!name || !adl_slurm_same(name->value, "gpu"))
        return;
    known->covered[node] = true;
    adl_layout_gpus_add(&known->listed[node], type ? type->value : "", adl_layout_gres_count(gres, known->line));
}

static int take_node(void *arg, const char *name)
{
    struct known *known = arg;
    const uint32_t node = adl_layout_node_find(&known->check->layout, name);
    if (node != ADL_NONE)
        take_line(known, node);
    return 0;
}

static int wrong_list(const struct adl_slurm_conf *conf, const struct adl_slurm_setting *setting,
                      const struct adl_error *why, struct adl_error *err)
{
    return adl_fail(err, ADL_EINVAL, "%.150s:%u: %s: %s", conf->files[setting->file].path, setting->line, setting->key,
                    why->text);
}

static int read_gres(struct known *known, struct adl_error *err)
{
    const struct adl_slurm_conf *gres = &known->check->gres;
    const struct adl_slurm_setting *detect = adl_slurm_conf_find(gres, "AutoDetect");
    known->detects_all = detect && !adl_slurm_same(detect->value, "off");
    for (size_t line = 0; line < gres->line_count; line++) {
        const struct adl_slurm_setting *nodes = adl_slurm_line_find(gres, line, "NodeName");
        struct adl_error why = {{0}};
        known->line = line;
        if (nodes && adl_hostlist_each(nodes->value, take_node, known, &why))
            return wrong_list(gres, nodes, &why, err);
        for (uint32_t i = 0; !nodes && i < node_count(known); i++)
            if (known->stated[i].count > 0)
                take_line(known, i);
    }
    return 0;
}

static int set_type(void *arg, const char *name)
{
    struct known *known = arg;
    const uint32_t node = adl_layout_node_find(&known->check->layout, name);
    if (node != ADL_NONE)
        memcpy(known->given[node], known->type, strlen(known->type) + 1);
    return node == ADL_NONE ? ADL_EABSENT : 0;
}

/* "v[0-3]=volta;t0=turing" */
static int read_types(struct known *known, struct adl_error *err)
{
    const char *at = known->check->request.types;
    while (at && *at) {
        const size_t size = strcspn(at, ";"), nodes = strcspn(at, "=");
        char list[1024], type[ADL_LAYOUT_TYPE_SIZE];
        struct adl_error why = {{0}};
        if (size >= sizeof list || nodes == 0 || nodes + 1 >= size || size - nodes > sizeof type ||
            strcspn(at + nodes + 1, " =:,\"\\#\t") < size - nodes - 1)
            return adl_fail(err, ADL_EINVAL,
                            "--types wants NODES=TYPE with semicolons between, as 'v[0-3]=volta;t0=turing'");
        memcpy(list, at, nodes);
        list[nodes] = '\0';
        memcpy(type, at + nodes + 1, size - nodes - 1);
        type[size - nodes - 1] = '\0';
        known->type = type;
        const int status = adl_hostlist_each(list, set_type, known, &why);
        known->type = NULL;
        if (status == ADL_EABSENT)
            return adl_fail(err, ADL_EINVAL, "--types: %.60s names a node that slurm.conf does not have", list);
        if (status)
            return adl_fail(err, ADL_EINVAL, "--types: %.300s", why.text);
        at += size + (at[size] == ';');
    }
    return 0;
}

static void read_nodes(struct known *known)
{
    const struct adl_slurm_layout *layout = &known->check->layout;
    for (size_t i = 0; i < layout->node_count; i++) {
        const struct adl_slurm_setting *gres = adl_slurm_line_inherit(layout->conf, layout->nodes[i].line, "Gres");
        adl_layout_gpus_read(gres ? gres->value : NULL, &known->stated[i]);
    }
}

/* ---- slurm.conf ---- */

/* The types that Gres= should have for a node: as given, or as gres.conf lists them; none if they are not known. */
static void guess_types(const struct known *known, uint32_t node, struct adl_layout_gpus *ret)
{
    const struct adl_layout_gpus *stated = &known->stated[node], *listed = &known->listed[node];
    *ret = (struct adl_layout_gpus){.count = 0};
    if (*known->given[node]) {
        for (size_t i = 0; i < stated->count; i++)
            adl_layout_gpus_add(ret, stated->kinds[i].type[0] ? stated->kinds[i].type : known->given[node],
                                stated->kinds[i].count);
    } else if (listed->count > 0 && adl_layout_gpus_typed(listed) &&
               adl_layout_gpus_total(listed) == adl_layout_gpus_total(stated)) {
        *ret = *listed;
    }
}

static bool same_gpus(const struct adl_layout_gpus *a, const struct adl_layout_gpus *b)
{
    bool same = a->count == b->count;
    for (size_t i = 0; same && i < a->count; i++)
        same = strcmp(a->kinds[i].type, b->kinds[i].type) == 0 && a->kinds[i].count == b->kinds[i].count;
    return same;
}

/* Gres= with types for its GPUs, the rest unchanged. */
static void put_gres(struct adl_text *text, const char *gres, const struct adl_layout_gpus *gpus)
{
    bool done = false;
    while (*gres) {
        const size_t size = strcspn(gres, ",");
        const bool is_gpu = strncmp(gres, "gpu", 3) == 0 && (size == 3 || gres[3] == ':');
        for (size_t i = 0; is_gpu && !done && i < gpus->count; i++)
            adl_text_printf(text, "%sgpu:%s:%llu", text->size > 0 ? "," : "", gpus->kinds[i].type,
                            (unsigned long long)gpus->kinds[i].count);
        done = done || is_gpu;
        if (!is_gpu) {
            adl_text_put(text, text->size > 0 ? "," : "");
            adl_text_bytes(text, gres, size);
        }
        gres += size + (gres[size] == ',');
    }
}

static void type_line(struct known *known, size_t line, const struct adl_layout_gpus *gpus)
{
    struct adl_slurm_check *check = known->check;
    const struct adl_slurm_setting *gres = adl_slurm_line_inherit(&check->conf, line, "Gres");
    struct adl_text text = {0};
    put_gres(&text, gres->value, gpus);
    if (adl_text_status(&text))
        check->failed = true;
    else if (adl_slurm_line_find(&check->conf, line, "Gres") == gres)
        adl_slurm_replace(check, &check->conf, gres, text.data);
    else
        adl_slurm_append(check, &check->conf, line, "Gres", text.data);
    adl_text_clear(&text);
}

/* The nodes of one line of slurm.conf with untyped GPUs; first is one of adlro's. */
static void check_line(struct known *known, size_t line, uint32_t first)
{
    struct adl_slurm_check *check = known->check;
    const struct adl_slurm_setting *gres = adl_slurm_line_inherit(&check->conf, line, "Gres");
    const char *nodes = check->conf.settings[check->conf.lines[line].first].value;
    struct adl_layout_gpus gpus, other;
    char quoted[ADL_QUOTE_SIZE];
    bool agreed = true;
    guess_types(known, first, &gpus);
    for (uint32_t i = 0; i < node_count(known); i++)
        if (check->layout.nodes[i].line == line) {
            guess_types(known, i, &other);
            agreed = agreed && same_gpus(&gpus, &other);
        }
    const bool knows = agreed && gpus.count > 0;
    struct adl_finding *finding = adl_slurm_check_add(
        check, CHANGE, "Gres", &check->conf, gres, "The GPUs of %s have no type, and adlro schedules by type. %s",
        adl_quote(nodes, quoted),
        knows                ? "Their type has to be in Gres=."
        : !agreed            ? "The nodes of this line do not have the same GPUs: give each kind a line of its own."
        : known->detects_all ? "Write Gres=gpu:TYPE:COUNT with a part of the name that slurmd -C or nvidia-smi shows, "
                               "or give it here: --types 'NODES=TYPE'."
                             : "Write Gres=gpu:TYPE:COUNT, or give the type here: --types 'NODES=TYPE'.");
    if (!knows)
        return;
    if (finding)
        finding->edited = true;
    type_line(known, line, &gpus);
    for (uint32_t i = 0; i < node_count(known); i++)
        if (check->layout.nodes[i].line == line)
            known->stated[i] = gpus;
}

/* ---- gres.conf ---- */

struct cover {
    const struct known *known;
    const char *type; /* of all nodes of a line */
    bool ours, mixed;
};

static void cover_with(struct cover *cover, uint32_t node)
{
    const struct adl_layout_gpus *gpus = &cover->known->stated[node];
    cover->ours = cover->ours || cover->known->check->ours_node[node];
    for (size_t i = 0; i < gpus->count; i++) {
        if (cover->type && strcmp(cover->type, gpus->kinds[i].type) != 0)
            cover->mixed = true;
        cover->type = gpus->kinds[i].type;
    }
}

static int cover_node(void *arg, const char *name)
{
    struct cover *cover = arg;
    const uint32_t node = adl_layout_node_find(&cover->known->check->layout, name);
    if (node != ADL_NONE)
        cover_with(cover, node);
    return 0;
}

/* A line of gres.conf with GPUs but no type, without AutoDetect. */
static void check_devices(const struct known *known, size_t line)
{
    struct adl_slurm_check *check = known->check;
    const struct adl_slurm_conf *gres = &check->gres;
    const struct adl_slurm_setting *nodes = adl_slurm_line_find(gres, line, "NodeName");
    const struct adl_slurm_setting *at = &gres->settings[gres->lines[line].first];
    struct cover cover = {.known = known};
    if (nodes && adl_hostlist_each(nodes->value, cover_node, &cover, NULL))
        return; /* an error that was reported before */
    for (uint32_t i = 0; !nodes && i < node_count(known); i++)
        cover_with(&cover, i);
    if (!cover.ours || !cover.type)
        return;
    if (cover.mixed || *cover.type == '\0') {
        adl_slurm_check_add(
            check, CHANGE, "Type", gres, at,
            "The line gives GPUs no type%s. Write a line with NodeName=, Type= and File= for each kind.",
            cover.mixed ? ", and it is about nodes with GPUs of several" : "");
        return;
    }
    struct adl_finding *finding = adl_slurm_check_add(
        check, CHANGE, "Type", gres, at, "The line gives GPUs no type; Gres= of slurm.conf says which it is.");
    if (finding)
        finding->edited = true;
    adl_slurm_append(check, gres, line, "Type", cover.type);
}

static void check_gres(const struct known *known)
{
    const struct adl_slurm_conf *gres = &known->check->gres;
    for (size_t line = 0; line < gres->line_count; line++) {
        const struct adl_slurm_setting *name = adl_slurm_line_find(gres, line, "Name");
        if (name && adl_slurm_same(name->value, "gpu") && !adl_slurm_line_find(gres, line, "Type") &&
            !adl_slurm_line_find(gres, line, "AutoDetect") && !known->detects_all)
            check_devices(known, line);
    }
}

static void check_coverage(const struct known *known)
{
    struct adl_slurm_check *check = known->check;
    size_t bare = 0;
    const char *example = NULL;
    char quoted[ADL_QUOTE_SIZE];
    for (uint32_t i = 0; i < node_count(known); i++)
        if (check->ours_node[i] && known->stated[i].count > 0 && !known->covered[i] && !known->detects_all) {
            bare++;
            example = check->layout.nodes[i].name;
        }
    if (!example)
        return;
    struct adl_finding *finding = adl_slurm_check_add(
        check, WARN, "gres.conf", &check->conf, NULL,
        "%s for %zu nodes with GPUs, such as %s: unless they have a gres.conf of their own, with Type= "
        "and File= or AutoDetect=, slurmd finds no GPUs there and Slurm marks the nodes as invalid.",
        check->has_gres ? "There is no line" : "There is no gres.conf beside slurm.conf", bare,
        adl_quote(example, quoted));
    if (finding && check->has_gres)
        finding->path = check->gres.files[0].path;
}

static void check_gpus(struct known *known)
{
    struct adl_slurm_check *check = known->check;
    size_t ours = 0, untyped = 0;
    for (uint32_t i = 0; i < node_count(known); i++) {
        const size_t line = check->layout.nodes[i].line;
        if (!check->ours_node[i] || known->stated[i].count == 0)
            continue;
        ours++;
        if (adl_layout_gpus_typed(&known->stated[i]))
            continue;
        untyped++;
        if (!known->checked[line])
            check_line(known, line, i);
        known->checked[line] = true;
    }
    if (ours > 0 && untyped == 0)
        adl_slurm_check_add(check, OK, "Gres", &check->conf, NULL,
                            "All GPUs of adlro's %zu nodes have types in slurm.conf.", ours);
    check_gres(known);
    check_coverage(known);
}

int adl_slurm_gpu_rules(struct adl_slurm_check *check, struct adl_error *err)
{
    const size_t count = check->layout.node_count + 1;
    struct known known = {.check = check,
                          .stated = calloc(count, sizeof *known.stated),
                          .listed = calloc(count, sizeof *known.listed),
                          .given = calloc(count, sizeof *known.given),
                          .covered = calloc(count, sizeof *known.covered),
                          .checked = calloc(check->conf.line_count + 1, sizeof *known.checked)};
    int status = ADL_ENOMEM;
    if (!known.stated || !known.listed || !known.given || !known.covered || !known.checked) {
        adl_fail(err, status, "out of memory for %zu nodes", count);
    } else {
        read_nodes(&known);
        status = read_types(&known, err);
        status = status ? status : read_gres(&known, err);
        if (status == 0)
            check_gpus(&known);
    }
    free(known.stated);
    free(known.listed);
    free(known.given);
    free(known.covered);
    free(known.checked);
    return status;
}
