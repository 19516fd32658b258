"""adlro: scheduling on a simulated GPU cluster, for agents and experiments in Python.

    import adlro
    env = adlro.make("paper16", num_envs=64)         # a Gymnasium VectorEnv; without num_envs, an Env
    table = adlro.compare("paper16", policies=["easy", "adlro"], seeds=10)
    mine = adlro.play(MyPolicy(), "paper16", seeds=range(1, 11))

numpy is the only need. With gymnasium installed the environments are its Env and VectorEnv; without it they have the
same methods. docs/python.md describes the package.
"""

from ._library import Error, library_path, program_path, version
from .environment import Env, VectorEnv, make
from .experiments import compare, policies, replay
from .policy import Policy, Choice, View, play

__all__ = [
    "Choice",
    "Env",
    "Error",
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
