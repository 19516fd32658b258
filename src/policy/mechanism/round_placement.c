#include "policy/mechanism/round_placement.h"

#include "base/copy.h"
#include "state/stop.h"

#include <stdlib.h>

#define DOWN (ADL_NONE - 1) /* in place of a slot: a failed GPU */

struct placement {
    uint32_t type;      /* it is chosen for; ADL_NONE = not chosen */
    uint32_t first_gpu; /* its GPUs, a chain through gpu_assignment; ADL_NONE = none yet */
    bool stays;         /* runs on that type already and may keep its GPUs */
    bool passed_over;   /* chosen, but no place had room for the whole gang */
};

struct gpu_assignment {
    uint32_t slot; /* the job that has it in this round; ADL_NONE or DOWN */
    uint32_t next_gpu;
};

/* GPUs of a bank not assigned yet; unheld: of these, not held by a job that stays. */
struct bank_room {
    uint32_t unassigned, unheld;
};

struct node_room {
    int64_t cores, memory_mib;
};

struct adl_round_placement {
    const struct adl_cluster *cluster;
    struct placement *placements; /* [slot] */
    struct gpu_assignment *gpus;
    struct bank_room *banks;
    struct node_room *rooms; /* [node] not assigned yet */
    struct node_room *taken; /* [node] by the starts of one plan */
    uint32_t left[ADL_TYPES_MAX];
    const uint32_t *jobs; /* all of the round; the caller's */
    uint32_t job_count;
    uint32_t *chosen; /* then, from adl_round_placement_preempt on, those still to start */
    uint32_t chosen_count;
    bool holds; /* GPUs stay idle for jobs that do not run yet */
    size_t placement_capacity, chosen_capacity;
};

int adl_round_placement_create(const struct adl_cluster *cluster, struct adl_round_placement **ret)
{
    struct adl_round_placement *self = calloc(1, sizeof *self);
    if (!self)
        return ADL_ENOMEM;
    self->cluster = cluster;
    self->gpus = calloc((size_t)cluster->gpu_count + 1, sizeof *self->gpus);
    self->banks = calloc((size_t)cluster->bank_count + 1, sizeof *self->banks);
    self->rooms = calloc((size_t)cluster->node_count + 1, sizeof *self->rooms);
    self->taken = calloc((size_t)cluster->node_count + 1, sizeof *self->taken);
    if (!self->gpus || !self->banks || !self->rooms || !self->taken) {
        adl_round_placement_destroy(self);
        return ADL_ENOMEM;
    }
    *ret = self;
    return 0;
}

void adl_round_placement_destroy(struct adl_round_placement *self)
{
    if (!self)
        return;
    free(self->placements);
    free(self->gpus);
    free(self->banks);
    free(self->rooms);
    free(self->taken);
    free(self->chosen);
    free(self);
}

int adl_round_placement_grow(struct adl_round_placement *self, uint32_t slot, uint32_t jobs)
{
    if (adl_grow((void **)&self->placements, &self->placement_capacity, (size_t)slot + 1, sizeof *self->placements))
        return ADL_ENOMEM;
    return adl_grow((void **)&self->chosen, &self->chosen_capacity, jobs, sizeof *self->chosen);
}

int adl_round_placement_copy(struct adl_round_placement *to, const struct adl_round_placement *from,
                             const uint32_t *jobs)
{
    const struct adl_cluster *cluster = from->cluster;
    if (adl_grow((void **)&to->placements, &to->placement_capacity, from->placement_capacity, sizeof *to->placements) ||
        adl_grow((void **)&to->chosen, &to->chosen_capacity, from->chosen_capacity, sizeof *to->chosen))
        return ADL_ENOMEM;
    const struct adl_round_placement own = *to;
    *to = *from;
    to->jobs = jobs;
    to->placement_capacity = own.placement_capacity;
    to->chosen_capacity = own.chosen_capacity;
    ADL_COPY_ARRAY(to, own, from, placements, from->placement_capacity);
    ADL_COPY_ARRAY(to, own, from, chosen, from->chosen_capacity);
    ADL_COPY_ARRAY(to, own, from, gpus, cluster->gpu_count);
    ADL_COPY_ARRAY(to, own, from, banks, cluster->bank_count);
    ADL_COPY_ARRAY(to, own, from, rooms, cluster->node_count);
    ADL_COPY_ARRAY(to, own, from, taken, cluster->node_count);
    return 0;
}

void adl_round_placement_forget(struct adl_round_placement *self, uint32_t slot)
{
    self->placements[slot] = (struct placement){.type = ADL_NONE, .first_gpu = ADL_NONE};
}

/* ---- assigning GPUs ---- */

/* The GPUs of a job that was to stay become available to all. */
static void displace(struct adl_round_placement *self, const struct adl_state *state, uint32_t slot)
{
    self->placements[slot].stays = false;
    for (uint32_t gpu = state->jobs[slot].first_gpu; gpu != ADL_NONE; gpu = adl_state_next_gpu(state, slot, gpu))
        if (self->gpus[gpu].slot == ADL_NONE)
            self->banks[self->cluster->gpu_bank[gpu]].unheld++;
}

static void assign(struct adl_round_placement *self, const struct adl_state *state, uint32_t slot, uint32_t gpu)
{
    const struct adl_job_spec *spec = &state->jobs[slot].spec;
    const uint32_t bank = self->cluster->gpu_bank[gpu], holder = state->gpus[gpu].job[0];
    if (holder != ADL_NONE && holder != slot && self->placements[holder].stays)
        displace(self, state, holder);
    const bool own = holder == slot && self->placements[slot].stays;
    if (!state->gpus[gpu].down) { /* a drained one that its job holds is in no count */
        self->banks[bank].unassigned--;
        self->banks[bank].unheld -= !own;
    }
    struct node_room *room = &self->rooms[self->cluster->banks[bank].node];
    room->cores -= spec->cpu_cores;
    room->memory_mib -= spec->memory_mib;
    self->gpus[gpu] = (struct gpu_assignment){slot, self->placements[slot].first_gpu};
    self->placements[slot].first_gpu = gpu;
}

static void assign_own(struct adl_round_placement *self, const struct adl_state *state, uint32_t slot)
{
    for (uint32_t gpu = state->jobs[slot].first_gpu; gpu != ADL_NONE; gpu = adl_state_next_gpu(state, slot, gpu))
        assign(self, state, slot, gpu);
}

/* True if the node has the cores and memory for `gpus` GPUs of the job. */
static bool has_room(const struct adl_round_placement *self, const struct adl_job_spec *spec, uint32_t bank,
                     uint32_t gpus)
{
    const struct node_room *room = &self->rooms[self->cluster->banks[bank].node];
    return room->cores >= (int64_t)gpus * spec->cpu_cores && room->memory_mib >= (int64_t)gpus * spec->memory_mib;
}

static bool can_stay(const struct adl_round_placement *self, const struct adl_state *state, uint32_t slot)
{
    const struct adl_job *job = &state->jobs[slot];
    uint32_t bank = ADL_NONE, here = 0;
    for (uint32_t gpu = job->first_gpu; gpu != ADL_NONE; gpu = adl_state_next_gpu(state, slot, gpu)) {
        here = self->cluster->gpu_bank[gpu] == bank ? here + 1 : 1;
        bank = self->cluster->gpu_bank[gpu];
        if (self->gpus[gpu].slot != ADL_NONE || !has_room(self, &job->spec, bank, here))
            return false;
    }
    return true;
}

static bool is_unheld(const struct adl_round_placement *self, const struct adl_state *state, uint32_t gpu)
{
    const uint32_t holder = state->gpus[gpu].job[0];
    return holder == ADL_NONE || !self->placements[holder].stays;
}

/* Assigns GPUs of a bank: free ones first, then those of jobs that leave, then those of jobs that would have stayed. */
static void assign_in_bank(struct adl_round_placement *self, const struct adl_state *state, uint32_t slot,
                           uint32_t bank, uint32_t count)
{
    const struct adl_bank *it = &self->cluster->banks[bank];
    for (int pass = 0; pass < 3; pass++)
        for (uint32_t gpu = it->gpu_first; gpu < it->gpu_first + it->gpu_count && count > 0; gpu++) {
            if (self->gpus[gpu].slot != ADL_NONE || (pass == 0 && state->gpus[gpu].job[0] != ADL_NONE) ||
                (pass == 1 && !is_unheld(self, state, gpu)))
                continue;
            assign(self, state, slot, gpu);
            count--;
        }
}

/* The tightest bank that fits the job without displacing one that stays; else the one that displaces fewest. */
static uint32_t find_bank(const struct adl_round_placement *self, const struct adl_job_spec *spec, uint32_t type)
{
    uint32_t found = ADL_NONE;
    bool found_unheld = false;
    for (uint32_t b = 0; b < self->cluster->bank_count; b++) {
        const struct bank_room *room = &self->banks[b];
        if (self->cluster->banks[b].type != type || room->unassigned < spec->gpus ||
            !has_room(self, spec, b, spec->gpus))
            continue;
        const bool unheld = room->unheld >= spec->gpus;
        const uint32_t best = found == ADL_NONE ? 0 : self->banks[found].unheld;
        if (found == ADL_NONE || unheld > found_unheld ||
            (unheld == found_unheld && (unheld ? room->unheld < best : room->unheld > best))) {
            found = b;
            found_unheld = unheld;
        }
    }
    return found;
}

/* GPUs of the bank that a spanning job could use. */
static uint32_t usable(const struct adl_round_placement *self, const struct adl_job_spec *spec, uint32_t bank,
                       uint32_t most)
{
    uint32_t count = self->banks[bank].unassigned < most ? self->banks[bank].unassigned : most;
    while (count > 0 && !has_room(self, spec, bank, count))
        count--;
    return count;
}

/* Over several nodes, the banks with most unheld GPUs first; all or nothing. */
static bool assign_spanning(struct adl_round_placement *self, const struct adl_state *state, uint32_t slot,
                            uint32_t type)
{
    const struct adl_job_spec *spec = &state->jobs[slot].spec;
    uint32_t sum = 0, missing = spec->gpus;
    for (uint32_t b = 0; b < self->cluster->bank_count; b++)
        if (self->cluster->banks[b].type == type)
            sum += usable(self, spec, b, spec->gpus);
    if (sum < spec->gpus)
        return false;
    while (missing > 0) {
        uint32_t best = ADL_NONE, best_count = 0, best_unheld = 0;
        for (uint32_t b = 0; b < self->cluster->bank_count; b++) {
            const uint32_t count = self->cluster->banks[b].type == type ? usable(self, spec, b, missing) : 0;
            const uint32_t unheld = count < self->banks[b].unheld ? count : self->banks[b].unheld;
            if (count > 0 &&
                (best == ADL_NONE || unheld > best_unheld || (unheld == best_unheld && count > best_count))) {
                best = b;
                best_count = count;
                best_unheld = unheld;
            }
        }
        const uint32_t take = best_unheld > 0 ? best_unheld : best_count;
        assign_in_bank(self, state, slot, best, take);
        missing -= take;
    }
    return true;
}

static void place_job(struct adl_round_placement *self, const struct adl_state *state, uint32_t slot)
{
    struct placement *placement = &self->placements[slot];
    const struct adl_job_spec *spec = &state->jobs[slot].spec;
    placement->passed_over = false;
    if (placement->stays && can_stay(self, state, slot)) {
        assign_own(self, state, slot);
        return;
    }
    if (placement->stays)
        displace(self, state, slot);
    const uint32_t bank = find_bank(self, spec, placement->type);
    if (bank != ADL_NONE)
        assign_in_bank(self, state, slot, bank, spec->gpus);
    else if (!(spec->flags & ADL_JOB_SPAN) || spec->gpus == 1 || !assign_spanning(self, state, slot, placement->type))
        placement->passed_over = true;
}

/* ---- a round ---- */

static void reset(struct adl_round_placement *self, const struct adl_state *state)
{
    const struct adl_cluster *cluster = self->cluster;
    for (uint32_t n = 0; n < cluster->node_count; n++)
        self->rooms[n] = (struct node_room){cluster->nodes[n].cpu_cores, cluster->nodes[n].memory_mib};
    for (uint32_t t = 0; t < cluster->type_count; t++)
        self->left[t] = 0;
    for (uint32_t b = 0; b < cluster->bank_count; b++) {
        const struct adl_bank *bank = &cluster->banks[b];
        uint32_t up = 0;
        for (uint32_t gpu = bank->gpu_first; gpu < bank->gpu_first + bank->gpu_count; gpu++) {
            const bool down = state->gpus[gpu].down;
            self->gpus[gpu] = (struct gpu_assignment){down ? DOWN : ADL_NONE, ADL_NONE};
            up += !down;
        }
        self->banks[b] = (struct bank_room){up, up};
        self->left[bank->type] += up;
    }
}

static bool runs_on(const struct adl_state *state, uint32_t slot)
{
    const struct adl_job *job = &state->jobs[slot];
    return job->phase == ADL_PHASE_RUNNING &&
           (!(job->spec.flags & ADL_JOB_PREEMPTIBLE) || adl_stop_keeps_nothing(state, slot));
}

void adl_round_placement_begin(struct adl_round_placement *self, const struct adl_state *state, const uint32_t *jobs,
                               uint32_t count)
{
    reset(self, state);
    self->jobs = jobs;
    self->job_count = count;
    self->chosen_count = 0;
    self->holds = false;
    for (uint32_t i = 0; i < count; i++) {
        struct placement *placement = &self->placements[jobs[i]];
        *placement = (struct placement){.type = ADL_NONE, .first_gpu = ADL_NONE, .passed_over = placement->passed_over};
    }
    for (uint32_t i = 0; i < count; i++)
        if (runs_on(state, jobs[i])) {
            const struct adl_job *job = &state->jobs[jobs[i]];
            assign_own(self, state, jobs[i]);
            self->placements[jobs[i]].type = job->type;
            self->placements[jobs[i]].stays = true;
            for (uint32_t gpu = job->first_gpu; gpu != ADL_NONE; gpu = adl_state_next_gpu(state, jobs[i], gpu))
                self->left[job->type] -= !state->gpus[gpu].down;
        }
}

void adl_round_placement_choose(struct adl_round_placement *self, const struct adl_state *state, uint32_t slot,
                                uint32_t type)
{
    const struct adl_job *job = &state->jobs[slot];
    struct placement *placement = &self->placements[slot];
    if (placement->type != ADL_NONE || job->spec.gpus > self->left[type])
        return;
    self->left[type] -= job->spec.gpus;
    self->chosen[self->chosen_count++] = slot;
    placement->type = type;
    placement->stays = job->phase == ADL_PHASE_RUNNING && job->type == type;
    for (uint32_t gpu = job->first_gpu; placement->stays && gpu != ADL_NONE; gpu = adl_state_next_gpu(state, slot, gpu))
        self->banks[self->cluster->gpu_bank[gpu]].unheld -= !state->gpus[gpu].down;
}

void adl_round_placement_hold(struct adl_round_placement *self, const struct adl_state *state, uint32_t slot,
                              uint32_t type)
{
    const uint32_t gpus = state->jobs[slot].spec.gpus;
    if (self->placements[slot].type != ADL_NONE || gpus > self->left[type])
        return;
    self->left[type] -= gpus;
    self->placements[slot].type = type;
    self->holds = true;
}

bool adl_round_placement_full(const struct adl_round_placement *self)
{
    uint32_t left = 0;
    for (uint32_t t = 0; t < self->cluster->type_count; t++)
        left += self->left[t];
    return left == 0;
}

/* The next smaller gang size among the chosen jobs that were, or were not, passed over; 0 = none. */
static uint32_t next_size(const struct adl_round_placement *self, const struct adl_state *state, bool passed_over,
                          uint32_t below)
{
    uint32_t size = 0;
    for (uint32_t i = 0; i < self->chosen_count; i++) {
        const uint32_t slot = self->chosen[i], gpus = state->jobs[slot].spec.gpus;
        if (self->placements[slot].passed_over == passed_over && gpus < below && gpus > size)
            size = gpus;
    }
    return size;
}

/* Places the gangs of one size: those that stay, then the others, including those that a larger gang has displaced. */
static void place_size(struct adl_round_placement *self, const struct adl_state *state, bool passed_over, uint32_t size)
{
    for (int stays = 1; stays >= 0; stays--)
        for (uint32_t i = 0; i < self->chosen_count; i++) {
            const uint32_t slot = self->chosen[i];
            const struct placement *placement = &self->placements[slot];
            if (state->jobs[slot].spec.gpus == size && placement->first_gpu == ADL_NONE &&
                placement->passed_over == passed_over && placement->stays == (bool)stays)
                place_job(self, state, slot);
        }
}

/* Keeps running jobs that were not chosen but whose GPUs no chosen job has taken: preempting them would help no job. */
static void keep_unneeded(struct adl_round_placement *self, const struct adl_state *state)
{
    for (uint32_t i = 0; i < self->job_count && !self->holds; i++) {
        const uint32_t slot = self->jobs[i];
        struct placement *placement = &self->placements[slot];
        if (state->jobs[slot].phase == ADL_PHASE_RUNNING && placement->first_gpu == ADL_NONE &&
            can_stay(self, state, slot)) {
            placement->stays = true;
            assign_own(self, state, slot);
        }
    }
}

int adl_round_placement_preempt(struct adl_round_placement *self, const struct adl_state *state, struct adl_plan *plan)
{
    for (uint32_t size = UINT32_MAX; (size = next_size(self, state, true, size)) > 0;)
        place_size(self, state, true, size);
    for (uint32_t size = UINT32_MAX; (size = next_size(self, state, false, size)) > 0;)
        place_size(self, state, false, size);
    keep_unneeded(self, state);
    uint32_t to_start = 0;
    for (uint32_t i = 0; i < self->chosen_count; i++)
        if (self->placements[self->chosen[i]].first_gpu != ADL_NONE && !self->placements[self->chosen[i]].stays)
            self->chosen[to_start++] = self->chosen[i];
    self->chosen_count = to_start;
    for (uint32_t i = 0; i < self->job_count; i++) {
        const uint32_t slot = self->jobs[i];
        const struct placement *placement = &self->placements[slot];
        if (state->jobs[slot].phase == ADL_PHASE_RUNNING && !(placement->stays && placement->first_gpu != ADL_NONE)) {
            const int status = adl_plan_preempt(plan, slot);
            if (status)
                return status;
        }
    }
    return 0;
}

uint32_t adl_round_placement_successor(const struct adl_round_placement *self, const struct adl_state *state,
                                       uint32_t slot)
{
    if (self->placements[slot].first_gpu != ADL_NONE)
        return slot;
    for (uint32_t gpu = state->jobs[slot].first_gpu; gpu != ADL_NONE; gpu = adl_state_next_gpu(state, slot, gpu))
        if (self->gpus[gpu].slot < DOWN)
            return self->gpus[gpu].slot;
    /* No job takes the GPUs: one on the same node takes the cores or the memory. */
    for (uint32_t gpu = state->jobs[slot].first_gpu; gpu != ADL_NONE; gpu = adl_state_next_gpu(state, slot, gpu)) {
        const struct adl_node *node = &self->cluster->nodes[adl_gpu_node_of(self->cluster, gpu)];
        for (uint32_t g = node->gpu_first; g < node->gpu_first + node->gpu_count; g++)
            if (self->gpus[g].slot < DOWN && !self->placements[self->gpus[g].slot].stays)
                return self->gpus[g].slot;
    }
    return ADL_NONE;
}

uint32_t adl_round_placement_type(const struct adl_round_placement *self, uint32_t slot)
{
    return self->placements[slot].type;
}

/* ---- starts ---- */

/* Writes the job's GPUs to the plan if all are free and their nodes have room for it after the plan's other starts. */
static bool take_gpus(struct adl_round_placement *self, const struct adl_state *state, uint32_t slot,
                      uint32_t *ret_gpus)
{
    const struct adl_job_spec *spec = &state->jobs[slot].spec;
    bool all = true;
    uint32_t count = 0;
    for (uint32_t gpu = self->placements[slot].first_gpu; gpu != ADL_NONE && all; gpu = self->gpus[gpu].next_gpu) {
        const uint32_t node = adl_gpu_node_of(self->cluster, gpu);
        struct node_room *taken = &self->taken[node];
        taken->cores += spec->cpu_cores;
        taken->memory_mib += spec->memory_mib;
        ret_gpus[count++] = gpu;
        all = state->gpus[gpu].job[0] == ADL_NONE && !state->gpus[gpu].down &&
              taken->cores <= state->nodes_use[node].free_cores &&
              taken->memory_mib <= state->nodes_use[node].free_memory_mib;
    }
    for (uint32_t i = 0; i < count && !all; i++) {
        struct node_room *taken = &self->taken[adl_gpu_node_of(self->cluster, ret_gpus[i])];
        taken->cores -= spec->cpu_cores;
        taken->memory_mib -= spec->memory_mib;
    }
    return all;
}

int adl_round_placement_start(struct adl_round_placement *self, const struct adl_state *state, struct adl_plan *plan)
{
    uint32_t kept = 0;
    int status = 0;
    for (uint32_t n = 0; n < self->cluster->node_count && self->chosen_count > 0; n++)
        self->taken[n] = (struct node_room){0};
    for (uint32_t i = 0; i < self->chosen_count; i++) {
        const uint32_t slot = self->chosen[i];
        const struct adl_job *job = &state->jobs[slot];
        if (self->placements[slot].first_gpu == ADL_NONE) /* forgotten: the job is gone */
            continue;
        uint32_t *gpus = adl_plan_gpus(plan, job->spec.gpus);
        if (status == 0 && gpus && job->phase == ADL_PHASE_PENDING && take_gpus(self, state, slot, gpus))
            status = adl_plan_start(plan, slot, job->spec.gpus);
        else
            self->chosen[kept++] = slot;
    }
    self->chosen_count = kept;
    return status;
}
