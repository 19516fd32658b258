#include "executor/slurm/mirror_phase.h"

#define IN ADL_MIRROR_IN

const struct adl_mirror_move adl_mirror_moves[] = {
    {ADL_MIRROR_ON_REPORT, IN(NEW), ADL_MIRROR_REPORTED},
    {ADL_MIRROR_ON_INTRODUCE, IN(NEW) | IN(REPORTED), ADL_MIRROR_QUEUED},
    {ADL_MIRROR_ON_PLACE, IN(QUEUED), ADL_MIRROR_PLACING},
    {ADL_MIRROR_ON_ANSWER, IN(PLACING), ADL_MIRROR_PLACED},
    {ADL_MIRROR_ON_AWAIT, ADL_MIRROR_WITH_SERVICE, ADL_MIRROR_PLACED},
    {ADL_MIRROR_ON_RUN, ADL_MIRROR_WITH_SERVICE, ADL_MIRROR_RUNNING},
    {ADL_MIRROR_ON_REQUEUE, ADL_MIRROR_WITH_SERVICE, ADL_MIRROR_QUEUED},
    {ADL_MIRROR_ON_END, ADL_MIRROR_WITH_SERVICE, ADL_MIRROR_OVER},
    {ADL_MIRROR_ON_DROP, ADL_MIRROR_WITH_SERVICE | IN(OVER), ADL_MIRROR_DROPPED},
    {ADL_MIRROR_ON_FORGET, IN(OVER), ADL_MIRROR_NEW}, /* if Slurm has it still; else it leaves the mirror */
};

const size_t adl_mirror_move_count = sizeof adl_mirror_moves / sizeof *adl_mirror_moves;

uint8_t adl_mirror_next(uint8_t phase, int event)
{
    for (const struct adl_mirror_move *move = adl_mirror_moves; move < adl_mirror_moves + adl_mirror_move_count; move++)
        if (move->event == event && move->from >> phase & 1)
            return move->to;
    return phase;
}
