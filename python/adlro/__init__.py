"""adlro: scheduling on a simulated GPU cluster, for agents and experiments in Python.

    import adlro
    env = adlro.make("paper16", num_envs=64)         # a Gymnasium VectorEnv; without num_envs, an Env
    table = adlro.compare("paper16", policies=["easy", "adlro"], seeds=10)
    agents = adlro.ParallelEnv("mixed64")            # the agents of policy market, for PettingZoo
    mine = adlro.play(MyPolicy(), "paper16", seeds=range(1, 11))

numpy is the only need. With gymnasium and pettingzoo installed the environments are theirs; without them they have the
same methods, but no spaces. docs/python.md describes the package.
"""

from .agents import Agents, ParallelEnv
from ._library import Error, library_path, program_path, version
from .environment import Env, VectorEnv, make
from .experiments import compare, policies, replay
from .policy import Policy, Choice, View, play

__all__ = [
    "Agents",
    "Choice",
    "Env",
    "Error",
    "ParallelEnv",
    "Policy",
    "VectorEnv",
    "View",
    "compare",
    "library_path",
    "make",
    "play",
    "policies",
    "program_path",
    "replay",
    "version",
]
__version__ = version()
