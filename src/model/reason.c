#include "model/reason.h"

const char *adl_rule_name(uint8_t rule)
{
    static const char *const names[ADL_RULE_COUNT] = {
        [ADL_RULE_NONE] = "none",
        [ADL_RULE_FIRST] = "first",
        [ADL_RULE_SHORTEST] = "shortest",
        [ADL_RULE_LEAST_WORK] = "least_work",
        [ADL_RULE_LEAST_HAD] = "least_had",
        [ADL_RULE_TURN] = "turn",
        [ADL_RULE_OVERDUE] = "overdue",
        [ADL_RULE_BACKFILL] = "backfill",
        [ADL_RULE_RESERVED] = "reserved",
        [ADL_RULE_GANG] = "gang",
        [ADL_RULE_MATCHING] = "matching",
        [ADL_RULE_SHARE] = "share",
        [ADL_RULE_LEFTOVER] = "leftover",
        [ADL_RULE_OWED] = "owed",
        [ADL_RULE_SPREAD] = "spread",
        [ADL_RULE_FRAGMENTS] = "fragments",
        [ADL_RULE_COST] = "cost",
        [ADL_RULE_VALUE] = "value",
        [ADL_RULE_ONLY] = "only",
        [ADL_RULE_CLEARED] = "cleared",
        [ADL_RULE_GUARD] = "guard",
        [ADL_RULE_AGENT] = "agent",
        [ADL_RULE_RUNS] = "runs",
        [ADL_RULE_FOR_SHORTER] = "for_shorter",
        [ADL_RULE_FOR_LESS_WORK] = "for_less_work",
        [ADL_RULE_FOR_LESS_HAD] = "for_less_had",
        [ADL_RULE_FOR_TURN] = "for_turn",
        [ADL_RULE_FOR_OLDER] = "for_older",
        [ADL_RULE_FOR_SHARE] = "for_share",
        [ADL_RULE_FOR_OWED] = "for_owed",
        [ADL_RULE_FOR_COST] = "for_cost",
        [ADL_RULE_MOVES] = "moves",
        [ADL_RULE_MOVES_SHARE] = "moves_share",
        [ADL_RULE_MOVES_OWED] = "moves_owed",
        [ADL_RULE_SAVING] = "saving",
        [ADL_RULE_FOR_PLUGIN] = "for_plugin",
    };
    return rule < ADL_RULE_COUNT ? names[rule] : names[ADL_RULE_NONE];
}
