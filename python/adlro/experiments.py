"""Experiments of the program adlro, with results as dicts."""

import json
import subprocess

from ._library import Error, program_path


def _run(arguments):
    done = subprocess.run([program_path(), *map(str, arguments)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Error(done.stderr.strip() or f"adlro {arguments[0]} failed with status {done.returncode}")
    return done.stdout


def _options(options):
    """first_seed=7, no_timing=True become --first-seed 7 --no-timing; lists are joined by commas."""
    words = []
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        if value is True:
            words.append(option)
        elif isinstance(value, dict):
            words += [word for key, setting in value.items() for word in (option, f"{key}={setting}")]
        elif value not in (None, False):
            words += [option, ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)]
    return words


def compare(scenario, policies, seeds=10, **options):
    """`adlro compare`: every policy on the same seeds of a scenario. Returns its JSON as a dict; "rows" is added, a dict
    for each policy with the mean of each metric, which pandas takes. Further options are those of the command line:
    regime="learned", first_seed=700001, set={"adlro.objective": "frugal"}."""
    words = ["compare", scenario, "--policies", ",".join(policies), "--seeds", seeds, "--json", "-", *_options(options)]
    return _with_rows(json.loads(_run(words)))


def replay(trace, cluster, policies, **options):
    """`adlro replay`: the jobs of a trace under every policy, with the same result as compare()."""
    words = ["replay", trace, "--cluster", cluster, "--policies", ",".join(policies), "--json", "-", *_options(options)]
    return _with_rows(json.loads(_run(words)))


def policies():
    """The policies that there are: a dict of names and descriptions."""
    lines = (line.split(None, 1) for line in _run(["policies"]).splitlines() if line and not line.startswith(" "))
    return {words[0]: words[1] if len(words) > 1 else "" for words in lines}


def _with_rows(result):
    rows = []
    for policy in result.get("policies", []):
        figures = {
            name: metric.get("mean") if isinstance(metric, dict) else metric
            for name, metric in policy.get("metrics", {}).items()
        }
        rows.append({"policy": policy.get("name"), **figures})
    result["rows"] = rows
    return result
