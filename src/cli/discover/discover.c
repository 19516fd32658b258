/* discover: writes the cluster file of this machine, or of machines whose tools wrote down what they have. */
#include "cli/cli.h"
#include "cli/discover/findings.h"
#include "executor/inventory.h"

#include <stddef.h>
#include <stdio.h>

struct options {
    struct adl_option_list nvidia_smi, rocm_smi;
    const char *slurm, *sinfo, *kubernetes;
    const char *name, *out;
    bool json;
};

#define AT(field) offsetof(struct options, field)

static const struct adl_option table[] = {
    {"nvidia-smi", 0, ADL_OPTION_LIST, AT(nvidia_smi), 0, 0, NULL, "FILE",
     "a machine: what `nvidia-smi -q -x` printed there; may be given several times"},
    {"rocm-smi", 0, ADL_OPTION_LIST, AT(rocm_smi), 0, 0, NULL, "FILE",
     "a machine: what `rocm-smi -a --json` printed there; may be given several times"},
    ADL_ROW_TEXT(struct options, slurm, "slurm", 0, "FILE", "a Slurm cluster: its slurm.conf; gres.conf is beside it"),
    ADL_ROW_TEXT(struct options, sinfo, "sinfo", 0, "FILE",
                 "a Slurm cluster: what `sinfo -N -o '%N %c %m %G'` printed"),
    ADL_ROW_TEXT(struct options, kubernetes, "kubernetes", 0, "FILE",
                 "a Kubernetes cluster: what `kubectl get nodes -o json` printed"),
    ADL_ROW_TEXT(struct options, name, "name", 'n', "NAME", "of the cluster"),
    ADL_ROW_TEXT(struct options, out, "out", 'o', "FILE", "where the cluster file goes (-: to standard output)"),
    ADL_ROW_FLAG(struct options, json, "json", 0, "what was found, as JSON, instead of a cluster file"),
};

static const struct adl_verb verb = {
    .name = "discover",
    .summary =
        "Writes the file of a cluster: of this machine's GPUs, or from what the tools of other machines printed. "
        "The file says what was not found out and how to state it.",
    .options = table,
    .option_count = sizeof table / sizeof *table,
    .example = "adlro discover --out box.yaml\n"
               "adlro discover --nvidia-smi node1.xml --nvidia-smi node2.xml --out cluster.yaml\n"
               "adlro discover --slurm /etc/slurm/slurm.conf --out cluster.yaml\n"
               "adlro replay jobs.csv --cluster cluster.yaml",
};

typedef int discover_from(struct adl_findings *findings, const char *path, struct adl_error *err);

static int from_list(struct adl_findings *findings, const struct adl_option_list *list, discover_from *from,
                     struct adl_error *err)
{
    int status = 0;
    for (uint32_t i = 0; i < list->count && !status; i++)
        status = from(findings, list->items[i], err);
    return status;
}

static int from_file(struct adl_findings *findings, const char *path, discover_from *from, struct adl_error *err)
{
    return path ? from(findings, path, err) : 0;
}

static int find(const struct options *o, struct adl_findings *findings, const char **ret_source, struct adl_error *err)
{
    int status = from_list(findings, &o->nvidia_smi, adl_discover_nvidia_smi, err);
    status = status ? status : from_list(findings, &o->rocm_smi, adl_discover_rocm_smi, err);
    status = status ? status : from_file(findings, o->slurm, adl_discover_slurm, err);
    status = status ? status : from_file(findings, o->sinfo, adl_discover_sinfo, err);
    status = status ? status : from_file(findings, o->kubernetes, adl_discover_kubernetes, err);
    *ret_source = o->slurm || o->sinfo ? "Slurm's configuration"
                  : o->kubernetes      ? "Kubernetes' list of nodes"
                                       : "the output of the drivers' tools";
    if (status || findings->count > 0)
        return status;
    *ret_source = "the drivers of this machine";
    return adl_discover_machine(findings, err);
}

static const char *first_input(const struct options *o)
{
    const char *const inputs[] = {o->nvidia_smi.items[0], o->rocm_smi.items[0], o->slurm, o->sinfo, o->kubernetes};
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
        if (inputs[i])
            return inputs[i];
    return "";
}

/* A wrong file is bad input, as everywhere on the command line. */
static int as_usage(int status)
{
    return status == ADL_EIO ? ADL_EINVAL : status;
}

static int run(int argc, char **argv)
{
    struct options o = {.name = "discovered", .out = "-"};
    struct adl_operands operands;
    struct adl_findings findings = {0};
    struct adl_catalogue catalogue = {0};
    struct adl_text text = {0};
    struct adl_error err = {{0}};
    const char *source;
    char name[ADL_NAME_SIZE];
    int code;
    if (!adl_cli_parse(&verb, argc, argv, &o, &operands, &code))
        return code;
    adl_findings_tidy(o.name, name);
    int status = adl_outputs_check(&o.out, 1, first_input(&o), &err);
    status = status ? status : as_usage(find(&o, &findings, &source, &err));
    status = status ? status : adl_inventory_catalogue(NULL, &catalogue, &err);
    if (!status && o.json)
        adl_findings_write_json(&findings, &catalogue, &text);
    else if (!status)
        adl_findings_write(&findings, &catalogue, name, source, &text);
    if (!status && (adl_text_status(&text) || adl_text_status(&findings.notes)))
        status = adl_fail(&err, ADL_ENOMEM, "out of memory");
    status = status ? status : adl_output_write(o.out, &text, &err);
    if (!status && !o.json && !adl_output_is_stdout(o.out))
        printf("%s: %zu node%s. To check:\n%s", o.out, findings.count, findings.count == 1 ? "" : "s",
               findings.notes.data ? findings.notes.data : "");
    adl_text_clear(&text);
    adl_catalogue_clear(&catalogue);
    adl_findings_clear(&findings);
    return status ? adl_cli_fail(&verb, status, &err) : ADL_EXIT_DONE;
}

const struct adl_command_verb adl_verb_discover = {&verb, run};
