#!/usr/bin/env python3
"""Trains a small agent with numpy only and compares it with policies on seeds that it has not seen.

    python3 python/examples/train_numpy.py [--scenario paper16] [--generations 10] [--test-seeds 20]

The agent is a line: the score of an action is the dot product of its features and a vector of weights, and the action
with the highest score is taken. The cross-entropy method searches the weights: 64 environments side by side play the
same jobs, each with weights of its own; the next weights are drawn around those of the best. Exits with 1 if the agent
does not beat `easy`.
"""

import argparse
import sys
from pathlib import Path

try:
    import numpy as np
except ImportError as problem:
    sys.exit(f"{Path(__file__).name} needs numpy (package python3-numpy): {problem}")

try:
    import adlro
except ImportError:  # from the source tree
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    import adlro

TRAINING, TEST = 1, 700_001  # first seeds (docs/scenarios.md says what seeds are for)


def play(env, weights, seeds):
    """One episode in each environment, each with its row of weights. Returns the mean completion times."""
    observation, _ = env.reset(seed=seeds)
    done = np.zeros(env.num_envs, bool)
    jct = np.zeros(env.num_envs)
    while not done.all():
        scores = np.einsum("eaf,ef->ea", observation["actions"], weights)
        actions = np.where(observation["mask"], scores, -np.inf).argmax(axis=1)
        observation, _, terminated, _, info = env.step(actions)
        for index in np.flatnonzero(terminated & ~done):
            jct[index] = info["result"][index]["jct_mean_s"]
        done |= terminated
    return jct


def train(env, generations, rng):
    """Returns the weights around which the search ended."""
    features = len(env.feature_names("actions"))
    mean, spread = np.zeros(features), np.ones(features)
    elite = env.num_envs // 5
    for generation in range(generations):
        weights = mean + spread * rng.standard_normal((env.num_envs, features))
        seed = TRAINING + generation
        jct = play(env, weights, np.full(env.num_envs, seed))
        best = weights[np.argsort(jct)[:elite]]
        mean, spread = best.mean(axis=0), best.std(axis=0) + 0.05
        print(f"generation {generation + 1:2}: mean completion time {jct.mean():7.1f} s, best {jct.min():7.1f} s", flush=True)
    return mean


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scenario", default="paper16")
    parser.add_argument("--generations", type=int, default=10)
    parser.add_argument("--test-seeds", type=int, default=20)
    options = parser.parse_args()
    env = adlro.make(options.scenario, num_envs=64)
    weights = train(env, options.generations, np.random.default_rng(0))
    env.close()

    test = adlro.make(options.scenario, num_envs=options.test_seeds)
    mine = play(test, np.tile(weights, (options.test_seeds, 1)), TEST).mean()
    others = adlro.compare(options.scenario, ["easy", "sjf", "adlro"], seeds=options.test_seeds, first_seed=TEST)
    print(f"\nmean completion time on {options.test_seeds} seeds that were not trained on:")
    for name, jct in [("this agent", mine)] + [(row["policy"], row["jct_mean_s"]) for row in others["rows"]]:
        print(f"  {name:12} {jct:7.1f} s")
    strongest = sorted(zip(test.feature_names("actions"), weights), key=lambda pair: -abs(pair[1]))[:5]
    print("strongest weights: " + ", ".join(f"{name} {weight:+.2f}" for name, weight in strongest))
    return 0 if mine < others["rows"][0]["jct_mean_s"] else 1


if __name__ == "__main__":
    sys.exit(main())
