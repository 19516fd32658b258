#!/usr/bin/env python3
"""Draws the plots of the report in README.md with matplotlib (package python3-matplotlib), from the package's own figures.

    python3 python/examples/plots.py [--scenario paper16] [--policies fcfs,easy,wfp3,dqn] [--seeds 30] [--out plots.png]

Four plots: mean completion times with 95 % intervals over the seeds; the distribution of completion times, the GPUs that
are busy, and who ran where and when, on one seed. Cells are marked with %% so that editors can run them one by one.
"""

# %% Names
import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

try:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
except ImportError as problem:
    print(f"skipped: {problem} (package python3-matplotlib)")
    sys.exit(77)

try:
    import adlro
except ImportError:  # from the source tree
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    import adlro


# %% One run as it happened
def record(scenario, policy, seed, folder):
    """The jobs of one run: rows of (submission, start, end, GPUs), in seconds; and the number of GPUs."""
    log = Path(folder) / f"{policy}.log"
    command = [adlro.program_path(), "simulate", scenario, "--policy", policy, "--seed", str(seed), "--log", str(log)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise adlro.Error(done.stderr.strip())
    waiting, running, rows, now, gpus = {}, {}, [], 0.0, 0
    for line in log.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        now = entry["t"] * 1e-6 if "t" in entry else now
        if entry.get("event") == "submit":
            waiting[entry["job"]] = now
        elif "start" in entry:
            running[entry["start"]] = (now, entry["gpus"])
        elif entry.get("event") in ("finish", "evict") and entry["job"] in running:
            start, held = running.pop(entry["job"])
            rows.append((waiting[entry["job"]], start, now, held, entry["event"] == "finish"))
        elif entry.get("event") == "meter":
            gpus = max(gpus, entry["gpu"] + 1)
    return rows, max(gpus, 1 + max(gpu for row in rows for gpu in row[3]))


# %% The four plots
PARTS = 60  # of a run, over which the GPUs that are busy are averaged


def draw_means(axis, table, names):
    means = [policy["metrics"]["jct_mean_s"] for policy in table["policies"]]
    at = np.arange(len(names))
    mean = np.array([metric["mean"] for metric in means])
    low, high = np.array([metric.get("ci95") or [metric["mean"]] * 2 for metric in means]).T
    axis.barh(at, mean, xerr=[mean - low, high - mean], color=colours(len(names)), capsize=3)
    axis.set_yticks(at, names)
    axis.invert_yaxis()
    axis.set_xlabel("mean completion time, s")
    axis.set_title(f"{table['scenario']}, {table['seeds']} seeds, 95 % intervals")


def draw_distribution(axis, runs):
    for (name, (rows, _)), colour in zip(runs.items(), colours(len(runs))):
        times = np.sort([end - submitted for submitted, _, end, _, finished in rows if finished])
        axis.step(times, np.arange(1, len(times) + 1) / len(times), where="post", label=name, color=colour)
    axis.set_xscale("log")
    axis.set_xlabel("completion time, s")
    axis.set_ylabel("share of the jobs")
    axis.legend()
    axis.set_title("distribution, one seed")


def draw_busy(axis, runs):
    for (name, (rows, gpus)), colour in zip(runs.items(), colours(len(runs))):
        changes = sorted([(row[1], len(row[3])) for row in rows] + [(row[2], -len(row[3])) for row in rows])
        times, steps = (np.array(column) for column in zip(*changes))
        gpu_s = np.concatenate([[0], np.cumsum(np.cumsum(steps)[:-1] * np.diff(times))])  # held until each change
        edges = np.linspace(0, times[-1], PARTS + 1)
        mean = np.diff(np.interp(edges, times, gpu_s)) / np.diff(edges)
        axis.step(edges, 100 * np.append(mean, 0) / gpus, where="post", label=name, color=colour)
    axis.set_ylim(0, 105)
    axis.set_xlabel("time, s")
    axis.set_ylabel("GPUs held, %")
    axis.set_title("GPUs busy, one seed")


def draw_gantt(axis, name, rows, gpus):
    shades = plt.get_cmap("tab20")
    for number, (_, start, end, held, _) in enumerate(rows):
        for gpu in held:
            axis.broken_barh([(start, end - start)], (gpu - 0.45, 0.9), color=shades(number % 20))
    axis.set_ylim(-0.5, gpus - 0.5)
    axis.set_xlabel("time, s")
    axis.set_ylabel("GPU")
    axis.set_title(f"who ran where, {name}")


def colours(count):
    return [plt.get_cmap("tab10")(i % 10) for i in range(count)]


# %% All of it
def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scenario", default="paper16")
    parser.add_argument("--policies", default="fcfs,easy,wfp3,dqn")
    parser.add_argument("--seeds", type=int, default=30)
    parser.add_argument("--out", default="plots.png", help="a file that ends in .png, .svg or .pdf")
    options = parser.parse_args()
    names = options.policies.split(",")
    table = adlro.compare(options.scenario, names, seeds=options.seeds)
    with tempfile.TemporaryDirectory() as folder:
        runs = {name: record(options.scenario, name, table["first_seed"], folder) for name in names}

    figure, axes = plt.subplots(2, 2, figsize=(12, 8), constrained_layout=True)
    draw_means(axes[0, 0], table, names)
    draw_distribution(axes[0, 1], runs)
    draw_busy(axes[1, 0], runs)
    draw_gantt(axes[1, 1], names[-1], *runs[names[-1]])
    figure.savefig(options.out, dpi=110)
    print(f"{options.out}: {', '.join(names)} on {options.scenario}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
