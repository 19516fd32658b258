/* slurm_rules: what settings of a whole Slurm cluster mean for adlro. */
#include "base/suggest.h"
#include "cli/slurm/slurm_check.h"
#include "scenario/text_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OK     ADL_FINDING_OK
#define WARN   ADL_FINDING_WARN
#define CHANGE ADL_FINDING_CHANGE

#define ADD(level, key, setting, ...) adl_slurm_check_add(check, level, key, &check->conf, setting, __VA_ARGS__)

static const struct adl_slurm_setting *find(const struct adl_slurm_check *check, const char *key)
{
    return adl_slurm_conf_find(&check->conf, key);
}

/* A value in quotes, cut to the size of the buffer: a message has at most three. */
static const char *shown(const struct adl_slurm_setting *setting, char buffer[ADL_QUOTE_SIZE])
{
    return adl_quote(setting ? setting->value : "", buffer);
}

static void mark_edited(struct adl_finding *finding)
{
    if (finding)
        finding->edited = true;
}

/* A whole number of seconds; the default if it is absent or not a number. */
static long seconds(const struct adl_slurm_setting *setting, long otherwise)
{
    char *end;
    const long value = setting ? strtol(setting->value, &end, 10) : otherwise;
    return setting && (*end != '\0' || end == setting->value) ? otherwise : value;
}

/* "one,two" to "one,two,word". */
static void add_word(struct adl_slurm_check *check, const char *key, const char *word)
{
    const struct adl_slurm_setting *setting = find(check, key);
    struct adl_text value = {0};
    adl_text_printf(&value, "%s%s%s", setting ? setting->value : "", setting && *setting->value ? "," : "", word);
    if (adl_text_status(&value))
        check->failed = true;
    else
        adl_slurm_set(check, key, value.data);
    adl_text_clear(&value);
}

static void check_version(struct adl_slurm_check *check)
{
    const char *version = check->request.version;
    const char *digits = version ? strpbrk(version, "0123456789") : NULL;
    unsigned year = 0, month = 0;
    char quoted[ADL_QUOTE_SIZE];
    if (!version) {
        ADD(OK, "version", NULL,
            "No slurmctld was found here to ask its version; adlro works with Slurm 22.05 to 26.05.");
        return;
    }
    const bool read = digits && sscanf(digits, "%3u.%3u", &year, &month) == 2;
    const unsigned at = year * 100 + month;
    if (!read)
        ADD(WARN, "version", NULL, "slurmctld -V prints %s, which has no version; adlro works with 22.05 to 26.05.",
            adl_quote(version, quoted));
    else if (at < 2205)
        ADD(CHANGE, "version", NULL,
            "Slurm %u.%02u is older than the versions that adlro works with, 22.05 to 26.05: upgrade first.", year,
            month);
    else if (at > 2605)
        ADD(WARN, "version", NULL,
            "Slurm %u.%02u is newer than the versions that adlro was made for, 22.05 to 26.05: use mode observe first.",
            year, month);
    else
        ADD(OK, "version", NULL, "Slurm %u.%02u is one that adlro works with.", year, month);
}

/* The job_submit.lua beside slurm.conf: 0 = there is none, 1 = it does not mention adlro, 2 = it does. */
static int find_hook(const struct adl_slurm_check *check)
{
    char *path = adl_path_beside(check->request.conf, "job_submit.lua"), *text = NULL;
    size_t size;
    int found = 0;
    if (path && adl_text_file_read(path, &text, &size, NULL) == 0)
        found = strstr(text, "adlro") ? 2 : 1;
    free(text);
    free(path);
    return found;
}

static void check_job_submit(struct adl_slurm_check *check)
{
    static const char key[] = "JobSubmitPlugins";
    const struct adl_slurm_setting *setting = find(check, key);
    const bool lua = setting && adl_slurm_has(setting->value, "lua");
    const bool plugin = setting && adl_slurm_has(setting->value, "adlro");
    if (plugin) {
        ADD(OK, key, setting, "The plugin 'adlro' catches jobs for adlro.");
        return;
    }
    if (lua)
        ADD(OK, key, setting, "'lua' is there: job_submit.lua can catch jobs for adlro.");
    else
        mark_edited(ADD(CHANGE, key, setting,
                        "'lua' has to be %s: the hook job_submit.lua holds the jobs of adlro's partitions for it and "
                        "keeps their GPU request. Jobs of other partitions are not touched.",
                        setting ? "added after what is there" : "set"));
    if (!lua)
        add_word(check, key, "lua");
    if (find_hook(check) == 1)
        ADD(WARN, "job_submit.lua", NULL,
            "There is a job_submit.lua beside slurm.conf that does not mention adlro: Slurm has one such script, so "
            "call adlro's hook from yours (docs/slurm.md) instead of replacing it.");
}

static void check_select(struct adl_slurm_check *check)
{
    static const char key[] = "SelectType", parameters_key[] = "SelectTypeParameters";
    const struct adl_slurm_setting *setting = find(check, key), *parameters = find(check, parameters_key);
    const char *flags = parameters ? parameters->value : "";
    char quoted[ADL_QUOTE_SIZE];
    if (setting && adl_slurm_same(setting->value, "select/cons_tres")) {
        ADD(OK, key, setting, "select/cons_tres gives out single GPUs of a node.");
        return;
    }
    const bool harmless = setting && adl_slurm_same(setting->value, "select/cons_res");
    mark_edited(ADD(CHANGE, key, setting, "%s has to be select/cons_tres: only that gives out single GPUs by type. %s",
                    setting ? shown(setting, quoted) : "It is not set, and",
                    harmless  ? "Jobs survive the change; slurmctld and slurmd have to be restarted."
                    : setting ? "Slurm loses all running and waiting jobs by this change: empty the cluster first."
                              : "Where it is not the default of your version (`scontrol show config`), Slurm loses all "
                                "running and waiting jobs by this change: empty the cluster first."));
    adl_slurm_set(check, key, "select/cons_tres");
    if (harmless || !parameters || adl_slurm_has(flags, "CR_CPU") || adl_slurm_has(flags, "CR_CPU_Memory") ||
        adl_slurm_has(flags, "CR_Core") || adl_slurm_has(flags, "CR_Core_Memory") ||
        adl_slurm_has(flags, "CR_Socket") || adl_slurm_has(flags, "CR_Socket_Memory"))
        return;
    mark_edited(ADD(CHANGE, parameters_key, parameters,
                    "%s goes with whole nodes; select/cons_tres needs a CR_Core, CR_CPU or CR_Socket.",
                    shown(parameters, quoted)));
    adl_slurm_set(check, parameters_key, strstr(flags, "emory") ? "CR_Core_Memory" : "CR_Core");
}

static void check_memory(struct adl_slurm_check *check)
{
    static const char *const keys[] = {"DefMemPerCPU", "DefMemPerNode", "DefMemPerGPU"};
    const struct adl_slurm_setting *parameters = find(check, "SelectTypeParameters");
    if (parameters && !strstr(parameters->value, "emory") && !strstr(parameters->value, "EMORY"))
        return;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (find(check, keys[i]))
            return;
    for (size_t i = 0; i < check->layout.partition_count; i++)
        for (size_t k = 0; check->ours[i] && k < sizeof keys / sizeof *keys; k++)
            if (adl_slurm_line_inherit(&check->conf, check->layout.partitions[i].line, keys[k]))
                return;
    ADD(WARN, "DefMemPerCPU", NULL,
        "Memory is allocated, and no DefMemPerCPU, DefMemPerNode or DefMemPerGPU says how much: a job that does not "
        "ask gets all of its node's, and the node's other GPUs stay empty. Set one, for instance DefMemPerCPU=4000.");
}

static void check_gres_types(struct adl_slurm_check *check)
{
    static const char key[] = "GresTypes";
    const struct adl_slurm_setting *setting = find(check, key);
    if (setting && adl_slurm_has(setting->value, "gpu")) {
        ADD(OK, key, setting, "Slurm knows of GPUs.");
        return;
    }
    mark_edited(
        ADD(CHANGE, key, setting, "'gpu' has to be %s, or Slurm does not give out GPUs.", setting ? "added" : "set"));
    add_word(check, key, "gpu");
}

static size_t count_others(const struct adl_slurm_check *check)
{
    size_t others = 0;
    for (size_t i = 0; i < check->layout.partition_count; i++)
        others += !check->ours[i];
    return others;
}

/* Figures: docs/slurm.md. */
static void check_latency(struct adl_slurm_check *check)
{
    static const char key[] = "SchedulerParameters";
    const struct adl_slurm_setting *setting = find(check, key), *type = find(check, "SchedulerType");
    const char *options = setting ? setting->value : "";
    const char *delay = adl_slurm_option(options, "batch_sched_delay");
    if (type && adl_slurm_same(type->value, "sched/builtin") && count_others(check) > 0)
        ADD(WARN, "SchedulerType", type,
            "sched/builtin switches off Slurm's backfill for the partitions that are not adlro's too, where short jobs "
            "then wait behind long ones. adlro's jobs do not start sooner by it: sched/backfill is as good.");
    else
        ADD(OK, "SchedulerType", type, "adlro needs no other: placed jobs start as soon with each.");
    if (adl_slurm_option(options, "defer") || adl_slurm_option(options, "defer_batch"))
        ADD(WARN, key, setting,
            "'defer' lets placed jobs wait for Slurm's next round, up to a minute (sched_interval). Leave it out, or "
            "use adlro's wake-up plugin.");
    else if (delay && strtol(delay, NULL, 10) == 0)
        ADD(OK, key, setting,
            "batch_sched_delay=0: expect 0.7 s from placement to start, 1.2 s at the worst; 0.1 s with adlro's wake-up "
            "plugin.");
    else
        ADD(WARN, key, setting,
            "Expect 1.7 s from placement to start, and 3 s at the worst. batch_sched_delay=0 makes that 0.7 s; "
            "slurmctld then runs its scheduler at each submission, which costs it time if thousands come at once. "
            "adlro's wake-up plugin makes it 0.1 s.");
}

static void check_accounting(struct adl_slurm_check *check)
{
    static const char key[] = "AccountingStorageType", tres_key[] = "AccountingStorageTRES";
    const struct adl_slurm_setting *setting = find(check, key), *tres = find(check, tres_key);
    const struct adl_slurm_setting *user = find(check, "SlurmUser");
    char quoted[ADL_QUOTE_SIZE];
    if (!setting || !adl_slurm_same(setting->value, "accounting_storage/slurmdbd")) {
        ADD(WARN, key, setting,
            "Without slurmdbd there are no operators: adlro-slurm has to run as root or as SlurmUser (%s) to place "
            "jobs. There is no sacct either, so past months cannot be replayed.",
            user ? shown(user, quoted) : "'root'");
        return;
    }
    ADD(OK, key, setting,
        "slurmdbd is there: adlro-slurm can run as a user of its own with the admin level Operator, and `adlro replay` "
        "reads what sacct prints.");
    if (!tres || !adl_slurm_option(tres->value, "gres/gpu"))
        ADD(WARN, tres_key, tres,
            "gres/gpu is not recorded, so sacct does not say how many GPUs jobs had. Add gres/gpu, and gres/gpu:TYPE "
            "for each type, if past months are to be replayed.");
}

static void check_energy(struct adl_slurm_check *check)
{
    static const char key[] = "AcctGatherEnergyType", often_key[] = "AcctGatherNodeFreq";
    const struct adl_slurm_setting *setting = find(check, key), *often = find(check, often_key);
    const char *types = setting ? setting->value : "none", *last = strrchr(types, '/'), *type = last ? last + 1 : types;
    char quoted[ADL_QUOTE_SIZE];
    if (adl_slurm_same(type, "none"))
        ADD(WARN, key, setting,
            "Energy is not measured: what jobs draw stays unknown, and adlro uses the figures of its catalogue of "
            "GPUs. "
            "acct_gather_energy/gpu would measure, or ipmi.");
    else if (adl_slurm_same(type, "rapl") && !strchr(types, ','))
        ADD(WARN, key, setting, "%s measures CPUs and no GPUs: what jobs draw stays unknown to adlro.",
            shown(setting, quoted));
    else if (seconds(often, 0) == 0)
        ADD(WARN, often_key, often,
            "slurmctld never reads the meters of %s, so what jobs draw stays unknown: 10 (seconds) is enough.",
            shown(setting, quoted));
    else
        ADD(OK, key, setting, "%s measures what jobs draw, each %ld s.", shown(setting, quoted), seconds(often, 0));
}

static void check_priority(struct adl_slurm_check *check)
{
    static const char key[] = "PriorityType";
    const struct adl_slurm_setting *setting = find(check, key), *options = find(check, "SchedulerParameters");
    if (!setting || !adl_slurm_same(setting->value, "priority/multifactor") || count_others(check) == 0)
        ADD(OK, key, setting, "The order of jobs in adlro's partitions is adlro's.");
    else if (adl_slurm_option(options ? options->value : "", "default_queue_depth"))
        ADD(OK, key, setting,
            "A job that adlro places gets its multifactor priority; default_queue_depth says how many jobs Slurm looks "
            "at.");
    else
        ADD(WARN, key, setting,
            "A job that adlro places gets its multifactor priority, and Slurm looks at its first 100 jobs at each "
            "change: behind more of other partitions it waits for the next round. A higher PriorityTier for adlro's "
            "partitions avoids that.");
}

static void check_preemption(struct adl_slurm_check *check)
{
    const struct adl_slurm_setting *type = find(check, "PreemptType"), *mode = find(check, "PreemptMode");
    const bool preempts = type && !adl_slurm_same(type->value, "preempt/none");
    const bool suspends = mode && (adl_slurm_has(mode->value, "SUSPEND") || adl_slurm_has(mode->value, "GANG"));
    char quoted[ADL_QUOTE_SIZE];
    if (preempts)
        ADD(WARN, "PreemptType", type,
            "%s lets Slurm stop jobs that adlro placed. adlro sees it and places them again, but jobs of the other "
            "partitions go first.",
            shown(type, quoted));
    if (suspends)
        ADD(WARN, "PreemptMode", mode,
            "A suspended job keeps its GPUs, so SUSPEND and GANG free nothing for GPU jobs. REQUEUE does.");
    if (!preempts && !suspends)
        ADD(OK, "PreemptType", type, "Slurm does not stop jobs on its own.");
}

static void check_requeue(struct adl_slurm_check *check)
{
    static const char key[] = "JobRequeue";
    const struct adl_slurm_setting *setting = find(check, key);
    if (!setting || seconds(setting, 1) != 0) {
        ADD(OK, key, setting,
            "Batch jobs may be requeued: they survive their node, and adlro can move them if it may.");
        return;
    }
    mark_edited(ADD(CHANGE, key, setting,
                    "With JobRequeue=0 jobs die with their node, and adlro cannot move any. It has to be 1; users "
                    "whose jobs must not run twice say --no-requeue."));
    adl_slurm_set(check, key, "1");
}

static void check_times(struct adl_slurm_check *check)
{
    const struct adl_slurm_setting *timeout = find(check, "SlurmdTimeout"), *age = find(check, "MinJobAge");
    const struct adl_slurm_setting *complete = find(check, "CompleteWait");
    const long timeout_s = seconds(timeout, 300), age_s = seconds(age, 300);
    if (timeout_s == 0)
        ADD(WARN, "SlurmdTimeout", timeout,
            "With 0 Slurm never marks a silent node as down, and its jobs hang until an administrator does. 300 is "
            "usual.");
    else
        ADD(timeout_s > 600 ? WARN : OK, "SlurmdTimeout", timeout,
            "A node that is silent for %ld s is marked as down; its jobs are requeued then%s.", timeout_s,
            timeout_s > 600 ? ", which is late" : "");
    if (age_s > 0 && age_s < 60)
        ADD(WARN, "MinJobAge", age,
            "Ended jobs are forgotten after %ld s: if adlro-slurm is away for longer, it does not learn how they "
            "ended. 300 is usual.",
            age_s);
    if (seconds(complete, 0) > 0)
        ADD(WARN, "CompleteWait", complete,
            "While a job is completing, Slurm starts no other for up to %ld s, and so delays what adlro places.",
            seconds(complete, 0));
}

void adl_slurm_rules(struct adl_slurm_check *check)
{
    check_version(check);
    check_job_submit(check);
    check_select(check);
    check_memory(check);
    check_gres_types(check);
    check_latency(check);
    check_priority(check);
    check_preemption(check);
    check_requeue(check);
    check_times(check);
    check_accounting(check);
    check_energy(check);
}
