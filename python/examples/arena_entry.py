#!/usr/bin/env python3
"""A policy in Python for the arena: least GPU time first, on the type that ends the job soonest.

    adlro arena --quick --entry python/examples/arena_entry.py
    adlro compare paper16 --policy-plugin python/examples/arena_entry.py --policies arena_entry,easy

A job that has waited many times its predicted run time goes first, so that none starves.
"""

import sys
from pathlib import Path

try:
    import adlro
except ImportError:  # from the source tree
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    import adlro

PATIENCE = 40


def rank(job):
    shortest_s = min(filter(None, job.predicted_s))
    return (job.waited_s < PATIENCE * shortest_s, shortest_s * job.gpus)


def decide(view):
    free = {kind.index: kind.free_gpus for kind in view.types}
    for job in sorted(view.waiting, key=rank):
        types = [index for index, gpus in free.items() if gpus >= job.gpus and job.runs_on(index)]
        if types and view.start(job, types):
            return


if __name__ == "__main__":
    adlro.enter(decide)
