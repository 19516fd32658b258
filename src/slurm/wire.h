/* wire: what the two ends of the adapter's protocol have in common (docs/formats/slurm-protocol.md). */
#ifndef ADLRO_SLURM_WIRE_H
#define ADLRO_SLURM_WIRE_H

#define ADL_SLURM_LINE_MAX 65536 /* bytes of a message */

enum adl_slurm_mode {
    ADL_SLURM_OBSERVE, /* decide and record, touch nothing */
    ADL_SLURM_ADVISE,  /* write the advice into the job's comment */
    ADL_SLURM_ACT,
};

/* Whether a pending job can be placed now. */
enum adl_slurm_eligibility {
    ADL_SLURM_ELIGIBLE,
    ADL_SLURM_INELIGIBLE, /* not yet: "why" says what it waits for */
    ADL_SLURM_REFUSED,    /* it was placed, and Slurm has a reason of its own not to start it */
    ADL_SLURM_CROWDED,    /* it was placed, and Slurm says that its nodes have no room, or cannot be used */
    ADL_SLURM_BEYOND,     /* only Slurm can tell whether it may start */
};

#endif
