#include "policy/market/directory.h"

#include "base/copy.h"
#include "base/error.h"

#include <stdlib.h>

/* Of what waits now, in the average: with prices of the moment alone the types that jobs wait for alternate. */
#define NEW_SHARE 0.02

#define TRIES 4 /* banks that are looked at for one where jobs run */

static struct adl_bank_size size_of(const struct adl_cluster *cluster, uint32_t bank)
{
    const struct adl_node *node = &cluster->nodes[cluster->banks[bank].node];
    return (struct adl_bank_size){cluster->banks[bank].gpu_count, node->cpu_cores, node->memory_mib};
}

static int32_t less(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

static void note_size(struct adl_directory *it, uint32_t bank)
{
    struct adl_bank_size *least = &it->least[it->cluster->banks[bank].type];
    const struct adl_bank_size size = size_of(it->cluster, bank);
    const bool first = least->gpus == 0;
    least->gpus = first ? size.gpus : less(least->gpus, size.gpus);
    least->cores = first ? size.cores : less(least->cores, size.cores);
    least->memory_mib = first ? size.memory_mib : less(least->memory_mib, size.memory_mib);
}

static bool holds(const struct adl_bank_size *size, const struct adl_announced *job)
{
    return size->gpus >= job->gpus && (int64_t)job->cpu_cores * job->gpus <= size->cores &&
           (int64_t)job->memory_mib * job->gpus <= size->memory_mib;
}

/* Most often all banks of the type do, and their nodes need not be looked at. */
bool adl_directory_suits(const struct adl_directory *directory, uint32_t bank, const struct adl_announced *job)
{
    if (holds(&directory->least[job->type], job))
        return true;
    const struct adl_bank_size size = size_of(directory->cluster, bank);
    return holds(&size, job);
}

/* At first the banks of a type are in the order of their sizes: all their GPUs are free. */
static void fill(struct adl_directory *it)
{
    const struct adl_cluster *cluster = it->cluster;
    uint32_t at = 0;
    for (uint32_t t = 0; t < cluster->type_count; t++) {
        it->first[t] = at;
        for (uint32_t f = 0; f <= ADL_BANK_GPUS_MAX; f++) {
            it->bounds[t][f] = at;
            for (uint32_t b = 0; b < cluster->bank_count; b++)
                if (cluster->banks[b].type == t && cluster->banks[b].gpu_count == f) {
                    it->banks[b] = (struct adl_directory_bank){.load = {.bank = b, .free_gpus = (uint16_t)f},
                                                               .busy_position = ADL_NONE,
                                                               .type = (uint16_t)t,
                                                               .gpus = (uint16_t)f};
                    note_size(it, b);
                    it->position[b] = at;
                    it->members[at++] = b;
                    it->widest[t] = f;
                    it->free_gpus[t] += f;
                }
        }
        it->bounds[t][ADL_BANK_GPUS_MAX + 1] = at;
    }
    it->first[cluster->type_count] = at;
}

int adl_directory_create(struct adl_directory *ret, const struct adl_cluster *cluster)
{
    const size_t banks = (size_t)cluster->bank_count + 1;
    *ret = (struct adl_directory){.cluster = cluster,
                                  .banks = adl_lines(banks, sizeof *ret->banks),
                                  .members = calloc(banks, sizeof *ret->members),
                                  .position = calloc(banks, sizeof *ret->position),
                                  .busy = calloc(banks, sizeof *ret->busy)};
    if (!ret->banks || !ret->members || !ret->position || !ret->busy) {
        adl_directory_clear(ret);
        return ADL_ENOMEM;
    }
    fill(ret);
    return 0;
}

void adl_directory_clear(struct adl_directory *directory)
{
    free(directory->banks);
    free(directory->members);
    free(directory->position);
    free(directory->busy);
    *directory = (struct adl_directory){0};
}

void adl_directory_copy(struct adl_directory *to, const struct adl_directory *from)
{
    const struct adl_directory own = *to;
    const uint32_t banks = from->cluster->bank_count;
    *to = *from;
    to->cluster = own.cluster;
    ADL_COPY_ARRAY(to, own, from, banks, banks);
    ADL_COPY_ARRAY(to, own, from, members, banks);
    ADL_COPY_ARRAY(to, own, from, position, banks);
    ADL_COPY_ARRAY(to, own, from, busy, from->busy_count);
}

static void swap_to(struct adl_directory *it, uint32_t bank, uint32_t to)
{
    const uint32_t from = it->position[bank], other = it->members[to];
    it->members[from] = other;
    it->position[other] = from;
    it->members[to] = bank;
    it->position[bank] = to;
}

/* From one number of free GPUs to another, a step at a time: over each bound the bank changes places with one at it. */
static void set_free(struct adl_directory *it, uint32_t bank, uint32_t gpus)
{
    const uint32_t type = it->banks[bank].type;
    uint32_t *bounds = it->bounds[type], f = it->banks[bank].load.free_gpus;
    it->free_gpus[type] += gpus;
    it->free_gpus[type] -= f;
    for (; f < gpus; f++)
        swap_to(it, bank, --bounds[f + 1]);
    for (; f > gpus; f--)
        swap_to(it, bank, bounds[f]++);
}

static void set_busy(struct adl_directory *it, uint32_t bank, bool busy)
{
    const uint32_t at = it->banks[bank].busy_position;
    if (busy == (at != ADL_NONE))
        return;
    if (busy) {
        it->banks[bank].busy_position = it->busy_count;
        it->busy[it->busy_count++] = bank;
        return;
    }
    const uint32_t last = it->busy[--it->busy_count];
    it->busy[at] = last;
    it->banks[last].busy_position = at;
    it->banks[bank].busy_position = ADL_NONE;
}

void adl_directory_hear(struct adl_directory *directory, const struct adl_bank_load *load)
{
    const uint32_t bank = load->bank, type = directory->banks[bank].type;
    set_free(directory, bank, load->free_gpus);
    set_busy(directory, bank, load->waiting > 0);
    directory->waiting[type] += load->waiting;
    directory->waiting[type] -= directory->banks[bank].load.waiting;
    directory->banks[bank].load = *load;
}

void adl_directory_reprice(struct adl_directory *directory)
{
    if (directory->busy_count == 0) /* an empty queue tells nothing of what is scarce */
        return;
    for (uint32_t t = 0; t < directory->cluster->type_count; t++)
        if (directory->cluster->type_gpus[t] > 0)
            directory->price[t] +=
                NEW_SHARE * ((double)directory->waiting[t] / directory->cluster->type_gpus[t] - directory->price[t]);
}

bool adl_directory_has_free(const struct adl_directory *directory, uint32_t type, uint32_t gpus)
{
    return gpus <= ADL_BANK_GPUS_MAX && directory->bounds[type][gpus] < directory->first[type + 1];
}

uint32_t adl_directory_any(const struct adl_directory *directory, uint32_t type, struct adl_rng *rng)
{
    const uint32_t first = directory->first[type];
    return directory->members[first + adl_rng_below(rng, directory->first[type + 1] - first)];
}

uint32_t adl_directory_draw(const struct adl_directory *directory, uint32_t type, uint32_t gpus, struct adl_rng *rng)
{
    const uint32_t *bounds = directory->bounds[type];
    if (adl_directory_has_free(directory, type, gpus)) {
        uint32_t f = gpus;
        while (bounds[f] == bounds[f + 1])
            f++;
        return directory->members[bounds[f] + adl_rng_below(rng, bounds[f + 1] - bounds[f])];
    }
    const uint32_t a = adl_directory_any(directory, type, rng), b = adl_directory_any(directory, type, rng);
    return directory->banks[b].load.open_us < directory->banks[a].load.open_us ? b : a;
}

uint32_t adl_directory_emptiest(const struct adl_directory *directory, uint32_t type, uint32_t n)
{
    const uint32_t end = directory->first[type + 1];
    return n < end - directory->first[type] ? directory->members[end - 1 - n] : ADL_NONE;
}

uint32_t adl_directory_runs(const struct adl_directory *directory, uint32_t type, struct adl_rng *rng)
{
    for (uint32_t i = 0; i < TRIES; i++) {
        const uint32_t bank = adl_rng_below(rng, directory->cluster->bank_count);
        const struct adl_directory_bank *it = &directory->banks[bank];
        if (it->type != type && it->load.free_gpus < it->gpus)
            return bank;
    }
    return ADL_NONE;
}

uint32_t adl_directory_busy(const struct adl_directory *directory, struct adl_rng *rng)
{
    return directory->busy_count > 0 ? directory->busy[adl_rng_below(rng, directory->busy_count)] : ADL_NONE;
}
