#include "policy/mechanism/reason.h"

#include "state/fit.h"

#include <stdio.h>
#include <string.h>

void adl_reason_types(const struct adl_state *state, uint32_t types, char *ret, size_t size)
{
    size_t at = 0;
    ret[0] = '\0';
    for (uint32_t left = types; left && at < size; left &= left - 1) {
        const int wrote =
            snprintf(ret + at, size - at, "%s%s", at > 0 ? ", " : "", state->cluster->types[__builtin_ctz(left)].name);
        at += wrote > 0 ? (size_t)wrote : 0;
    }
}

/* Number of jobs before it in the queue, up to 1000. */
static uint32_t before(const struct adl_state *state, uint32_t slot)
{
    uint32_t count = 0;
    adl_walk_begin(&state->queue);
    for (uint32_t at; count < 1000 && (at = adl_walk_job(&state->queue)) != ADL_NONE && at != slot; count++)
        adl_walk_next(&state->queue);
    return count;
}

/* True if a node with a free GPU of the type has the cores and memory for one GPU of the job. */
static bool hosts_suffice(const struct adl_state *state, const struct adl_job_spec *spec, uint32_t type)
{
    for (uint32_t b = 0; b < state->cluster->bank_count; b++) {
        const struct adl_bank *bank = &state->cluster->banks[b];
        const struct adl_node_use *node = &state->nodes_use[bank->node];
        if (bank->type == type && adl_pool_bank_free(&state->pool, b) > 0 && node->free_cores >= spec->cpu_cores &&
            node->free_memory_mib >= spec->memory_mib)
            return true;
    }
    return false;
}

void adl_reason_waiting(const struct adl_state *state, uint32_t slot, char *ret, size_t size)
{
    const struct adl_job *job = &state->jobs[slot];
    const uint32_t gpus = job->spec.gpus;
    uint32_t enough = 0, hosted = 0, most = 0;
    char names[96];
    for (uint32_t left = job->eligible; left; left &= left - 1) {
        const uint32_t type = (uint32_t)__builtin_ctz(left);
        most = state->pool.free_gpus[type] > most ? state->pool.free_gpus[type] : most;
        enough |= (uint32_t)(state->pool.free_gpus[type] >= gpus) << type;
        hosted |= (uint32_t)(state->pool.free_gpus[type] >= gpus && hosts_suffice(state, &job->spec, type)) << type;
    }
    adl_reason_types(state, enough ? enough : job->eligible, names, sizeof names);
    if (!enough)
        snprintf(ret, size, "GPUs: it needs %u of %s, and at most %u of one type %s free", gpus, names, most,
                 most == 1 ? "is" : "are");
    else if (!hosted)
        snprintf(ret, size, "host: GPUs of %s are free, but not the %d cores and %d MiB it needs for each", names,
                 job->spec.cpu_cores, job->spec.memory_mib);
    else {
        const uint32_t ahead = before(state, slot);
        snprintf(ret, size, "turn: GPUs of %s are free%s; %u job%s before it", names,
                 gpus > 1 ? ", maybe not in one node" : "", ahead, ahead == 1 ? " is" : "s are");
    }
}

/* ---- reasons of commands ---- */

struct adl_reason adl_reason_ranked(const struct adl_state *state, const struct adl_queue *queue, uint32_t slot,
                                    enum adl_rule rule)
{
    const uint32_t head = adl_queue_head(queue), other = head == slot ? adl_queue_second(queue) : head;
    struct adl_reason reason = {.rule = (uint8_t)rule, .other = other, .passed = head != slot};
    const int64_t own_us = queue->nodes[slot].key, other_us = other == ADL_NONE ? own_us : queue->nodes[other].key;
    reason.value = (double)(rule == ADL_RULE_FIRST ? state->now_us - own_us : own_us) * 1e-6;
    reason.against = (double)(rule == ADL_RULE_FIRST ? state->now_us - other_us : other_us) * 1e-6;
    return reason;
}

#define FIGURE_SIZE ADL_REASON_FIGURE_SIZE

const char *adl_reason_time(double s, char ret[ADL_REASON_FIGURE_SIZE])
{
    if (s < 0)
        s = 0;
    if (s < 10)
        snprintf(ret, FIGURE_SIZE, "%.1f s", s);
    else if (s < 120)
        snprintf(ret, FIGURE_SIZE, "%.0f s", s);
    else if (s < 7200)
        snprintf(ret, FIGURE_SIZE, "%.0f min", s / 60);
    else
        snprintf(ret, FIGURE_SIZE, "%.1f h", s / 3600);
    return ret;
}

static const char *say_work(double gpu_s, char ret[FIGURE_SIZE])
{
    if (gpu_s < 7200)
        snprintf(ret, FIGURE_SIZE, "%.0f GPU-s", gpu_s);
    else
        snprintf(ret, FIGURE_SIZE, "%.1f GPU-h", gpu_s / 3600);
    return ret;
}

static const char *say_watts(double w, char ret[FIGURE_SIZE])
{
    snprintf(ret, FIGURE_SIZE, "%.0f W", w);
    return ret;
}

static const char *say_percent(double share, char ret[FIGURE_SIZE])
{
    snprintf(ret, FIGURE_SIZE, "%.0f %%", 100 * share);
    return ret;
}

static const char *say_number(double value, char ret[FIGURE_SIZE])
{
    snprintf(ret, FIGURE_SIZE, "%.4g", value);
    return ret;
}

/* The text of each rule. {v} and {a} are the figures, {d} is their difference, {o} the other job and
 * {l} its delay. `alone` is for a
 * reason without another job or, if the rule never has one, without a second figure; `passed` if the other job ranks
 * first but does not fit. NULL: the same text. */
static const struct phrase {
    const char *words, *alone, *passed;
    const char *(*say)(double, char[FIGURE_SIZE]);
} phrases[ADL_RULE_COUNT] = {
    [ADL_RULE_NONE] = {"no reason was given", NULL, NULL, say_number},
    [ADL_RULE_FIRST] = {"first in the queue, {d} before {o}", "the only job in the queue",
                        "first in the queue that fits; {o}, {d} before it, does not fit now", adl_reason_time},
    [ADL_RULE_SHORTEST] = {"shortest time left ({v} against {a} of {o})", "the only job in the queue ({v} left)",
                           "shortest time left of those that fit ({v}; {o}, {a}, does not fit now)", adl_reason_time},
    [ADL_RULE_LEAST_WORK] = {"least predicted work ({v} against {a} of {o})", "the only job in the queue ({v})",
                             "least predicted work of those that fit ({v}; {o}, {a}, does not fit now)", say_work},
    [ADL_RULE_LEAST_HAD] = {"served least so far ({v} against {a} of {o})", "the only job in the queue ({v} so far)",
                            "served least so far of those that fit ({v}; {o}, {a}, does not fit now)", say_work},
    [ADL_RULE_TURN] = {"its turn among those served about as much ({v} so far, {o} {a})", NULL,
                       "its turn among those served about as much that fit ({v} so far; {o}, {a}, does not fit now)",
                       say_work},
    [ADL_RULE_OVERDUE] = {"submitted {v} ago, and no job should wait longer than {a}", NULL, NULL, adl_reason_time},
    [ADL_RULE_BACKFILL] = {"backfilled: runs {v} and does not delay {o}, which has GPUs reserved in {a}", NULL, NULL,
                           adl_reason_time},
    [ADL_RULE_RESERVED] = {"the time that was reserved for it has come", NULL, NULL, adl_reason_time},
    [ADL_RULE_GANG] = {"takes GPUs in one node that shorter one-GPU jobs leave ({v} left)", NULL, NULL,
                       adl_reason_time},
    [ADL_RULE_MATCHING] = {"least sum of completion times: runs {v} here, {a} on the fastest other type",
                           "least sum of completion times: runs {v} here, the only type for it", NULL, adl_reason_time},
    [ADL_RULE_SHARE] = {"its turn in this round: due {v} of the time on this type, received {a}", NULL, NULL,
                        say_percent},
    [ADL_RULE_LEFTOVER] = {"takes GPUs that this round leaves; it has no share of the time yet", NULL, NULL,
                           adl_reason_time},
    [ADL_RULE_OWED] = {"its turn in this round: {v} of GPU time owed to it on this type", NULL, NULL, adl_reason_time},
    [ADL_RULE_SPREAD] = {"first in the queue, before {o}; to the node with most GPUs free ({v} of them)",
                         "the only job in the queue; to the node with most GPUs free ({v} of them)",
                         "first in the queue that fits ({o} does not); to the node with most GPUs free ({v} of them)",
                         say_percent},
    [ADL_RULE_FRAGMENTS] = {"first in the queue, before {o}; where fewest GPUs become useless to others ({v}, "
                            "elsewhere {a} or more)",
                            "the only job in the queue; where fewest GPUs become useless to others ({v}, elsewhere "
                            "{a} or more)",
                            "first in the queue that fits ({o} does not); where fewest GPUs become useless to others "
                            "({v}, elsewhere {a} or more)",
                            say_number},
    [ADL_RULE_COST] = {"net cost of the two {v} beside {o} (power less the worth of progress), {a} if neither ran",
                       "net cost {v} if it runs here (power less the worth of progress), {a} if it waits", NULL,
                       say_watts},
    [ADL_RULE_VALUE] = {"the network values this start at {v}, the next best, of {o}, at {a}",
                        "the oldest job; the network values these GPUs at {v}, the next best for it at {a}", NULL,
                        say_number},
    [ADL_RULE_SCORE] = {"highest score ({v} against {a} of {o})", "highest score ({v})",
                        "highest score of those that fit ({v}; {o}, {a}, does not fit now)", say_number},
    [ADL_RULE_PLANNED] =
        {"the cheapest place for it: {v} of waiting, running and price, {a} on the next best type",
         "the cheapest place for it: {v} of waiting, running and price, on the only type considered",
         "the cheapest place for it: {v} of waiting, running and price, {a} on the next best type; {o}, "
         "first in rank, waits for another place",
         adl_reason_time},
    [ADL_RULE_DELAYS] =
        {"the cheapest place for it: {v} of waiting, running and price, {a} on the next best type; {o}, "
         "planned there, is delayed by {l}",
         "the cheapest place for it: {v} of waiting, running and price, on the only type considered; {o}, "
         "planned there, is delayed by {l}",
         NULL, adl_reason_time},
    [ADL_RULE_DUE] = {"due: work of {v} was started beyond its turn by submission, and {a} are allowed", NULL, NULL,
                      say_work},
    [ADL_RULE_ONLY] = {"the only start that does not delay {o}, which has GPUs reserved in {a} (this one runs {v})",
                       "the only start possible now", NULL, adl_reason_time},
    [ADL_RULE_CLEARED] = {"the jobs that were stopped for it have left", NULL, NULL, adl_reason_time},
    [ADL_RULE_GUARD] = {"guard: the policy's plan was refused; first in the queue that fits", NULL, NULL,
                        adl_reason_time},
    [ADL_RULE_AGENT] = {"chosen by the agent or plugin that decides", NULL, NULL, say_number},
    [ADL_RULE_RUNS] = {"it ran already", NULL, NULL, adl_reason_time},
    [ADL_RULE_BID] = {"the agent of these GPUs had the best bid: {v} of waiting, running and price, the next best {a}",
                      "the agent of these GPUs had the only bid: {v} of waiting, running and price", NULL,
                      adl_reason_time},
    [ADL_RULE_FOR_SHORTER] = {"makes room for {o}, which has {a} left (this one {v})", NULL, NULL, adl_reason_time},
    [ADL_RULE_FOR_LESS_WORK] = {"makes room for {o}, which has {a} left (this one {v})", NULL, NULL, say_work},
    [ADL_RULE_FOR_LESS_HAD] = {"makes room for {o}, which was served {a} so far (this one {v})", NULL, NULL, say_work},
    [ADL_RULE_FOR_TURN] = {"makes room for {o}, whose turn it is ({a} so far, this one {v})", NULL, NULL, say_work},
    [ADL_RULE_FOR_OLDER] = {"makes room for {o}, which was submitted {d} earlier", NULL, NULL, adl_reason_time},
    [ADL_RULE_FOR_SHARE] = {"makes room for {o}, which is due {a} of the time on this type (this one {v})",
                            "not its turn in this round (due {v} of the time)", NULL, say_percent},
    [ADL_RULE_FOR_OWED] = {"makes room for {o}, to which {a} of GPU time is owed (to this one {v})",
                           "not its turn in this round ({v} of GPU time owed to it)", NULL, adl_reason_time},
    [ADL_RULE_FOR_COST] = {"makes room for {o}: net cost {a} of serving that one, {v} of serving this one", NULL, NULL,
                           say_watts},
    [ADL_RULE_MOVES] = {"moves to other GPUs: net cost {v} as it is, {a} there with the move", NULL, NULL, say_watts},
    [ADL_RULE_MOVES_SHARE] = {"moves to other GPUs: due {a} of the time there, {v} here", NULL, NULL, say_percent},
    [ADL_RULE_MOVES_OWED] = {"moves to other GPUs: {a} of GPU time owed to it there, {v} here", NULL, NULL,
                             adl_reason_time},
    [ADL_RULE_MOVES_PLANNED] = {"moves to other GPUs: {a} of running and price there with the move, {v} here", NULL,
                                NULL, adl_reason_time},
    [ADL_RULE_MOVES_FOR] = {"moves to other GPUs for {o}, which saves {v} here; the move costs {a}", NULL, NULL,
                            adl_reason_time},
    [ADL_RULE_FOR_PLUGIN] = {"stopped by the plugin that decides", NULL, NULL, say_number},
    [ADL_RULE_SAVING] = {"saves {v}: its progress is not worth the power now", NULL, NULL, say_watts},
};

/* The output; text that does not fit is cut off. */
struct fill {
    char *at;
    size_t room;
};

static void put(struct fill *fill, const char *text, size_t size)
{
    for (size_t i = 0; i < size && fill->room > 1; i++, fill->room--)
        *fill->at++ = text[i];
    *fill->at = '\0';
}

/* Copies the text, with {v}, {a}, {o}, {d} and {l} replaced. */
static void fill_in(const struct adl_reason *reason, const struct phrase *phrase, const char *words, const char *other,
                    struct fill *fill)
{
    for (; *words; words++) {
        char figure[FIGURE_SIZE];
        if (words[0] != '{') {
            put(fill, words, 1);
            continue;
        }
        const double gap =
            reason->value > reason->against ? reason->value - reason->against : reason->against - reason->value;
        const char *text = words[1] == 'v'   ? phrase->say(reason->value, figure)
                           : words[1] == 'a' ? phrase->say(reason->against, figure)
                           : words[1] == 'd' ? phrase->say(gap, figure)
                           : words[1] == 'l' ? adl_reason_time(reason->delay_s, figure)
                                             : other;
        put(fill, text, strlen(text));
        words += 2;
    }
}

void adl_reason_words(const struct adl_reason *reason, const char *other_name, char *ret, size_t size)
{
    const struct phrase *phrase = &phrases[reason->rule < ADL_RULE_COUNT ? reason->rule : ADL_RULE_NONE];
    const bool by_type = reason->rule == ADL_RULE_MATCHING || reason->rule == ADL_RULE_PLANNED ||
                         reason->rule == ADL_RULE_DELAYS || reason->rule == ADL_RULE_BID;
    const bool alone = by_type ? reason->against == 0 : reason->other_id == 0 && !other_name;
    const char *words = alone && phrase->alone             ? phrase->alone
                        : reason->passed && phrase->passed ? phrase->passed
                                                           : phrase->words;
    struct fill fill = {ret, size};
    char other[64], figure[FIGURE_SIZE];
    if (other_name)
        snprintf(other, sizeof other, "job %s", other_name);
    else
        snprintf(other, sizeof other, "job %llu", (unsigned long long)reason->other_id);
    ret[0] = '\0';
    fill_in(reason, phrase, words, other, &fill);
    if (adl_rule_stops(reason->rule) || reason->rule == ADL_RULE_NONE || reason->rule == ADL_RULE_RUNS)
        return;
    if (reason->rank > 0) {
        snprintf(other, sizeof other, "; rank %u of %u", reason->rank, reason->ranked);
        put(&fill, other, strlen(other));
    }
    put(&fill, "; waited ", 9);
    adl_reason_time((double)reason->waited_us * 1e-6, figure);
    put(&fill, figure, strlen(figure));
}
