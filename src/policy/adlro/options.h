/* options: what can be set of the policy adlro. */
#ifndef ADLRO_POLICY_ADLRO_OPTIONS_H
#define ADLRO_POLICY_ADLRO_OPTIONS_H

#include "model/cluster.h"
#include "policy/option.h"

struct adl_adlro_options {
    struct adl_objective objective;
    double price_weight, delay_weight, fair_half_life_s;
    char user_shares[ADL_POLICY_TEXT_SIZE];
    int64_t planned_jobs;
    bool moves, stops, network;
    double stop_margin;
};

#define ADL_ADLRO_OPTIONS 10
extern const struct adl_policy_option adl_adlro_table[ADL_ADLRO_OPTIONS];

/* The network was trained on clusters of that size, and where energy has no weight. */
bool adl_adlro_has_network(const struct adl_adlro_options *options, const struct adl_cluster *cluster);

#endif
