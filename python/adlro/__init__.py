"""adlro: scheduling on a simulated GPU cluster, for agents and experiments in Python.

    import adlro
    env = adlro.make("paper16", num_envs=64)         # a Gymnasium VectorEnv; without num_envs, an Env
    table = adlro.compare("paper16", policies=["easy", "adlro"], seeds=10)
    agents = adlro.ParallelEnv("mixed64")            # the agents of policy market, for PettingZoo
    mine = adlro.play(MyPolicy(), "paper16", seeds=range(1, 11))

numpy is the only need. With gymnasium and pettingzoo installed the environments are theirs; without them they have the
same methods, but no spaces. docs/python.md describes the package.
"""

import importlib

# Loaded at their first use: a policy that enters the arena (adlro.enter) needs neither numpy nor the library.
_WHERE = {
    "Agents": "agents",
    "Choice": "policy",
    "Env": "environment",
    "Error": "_library",
    "ParallelEnv": "agents",
    "Policy": "policy",
    "VectorEnv": "environment",
    "View": "policy",
    "compare": "experiments",
    "enter": "entry",
    "library_path": "_library",
    "make": "environment",
    "play": "policy",
    "policies": "experiments",
    "program_path": "_library",
    "replay": "experiments",
    "version": "_library",
}
__all__ = list(_WHERE)


def __getattr__(name):
    if name == "__version__":
        return __getattr__("version")()
    if name not in _WHERE:
        raise AttributeError(f"module 'adlro' has no attribute {name!r}")
    value = getattr(importlib.import_module("." + _WHERE[name], __name__), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted([*globals(), *_WHERE, "__version__"])
