"""The agents of policy market as an environment: in rows of numpy arrays (Agents), and as a parallel environment of
PettingZoo (ParallelEnv).

An agent, one for each node, is asked for a bid when a job is announced to it. An action is the logarithm of a factor of
its hand-written bid; 0 plays as policy market does. docs/environment.md describes observations and rewards.
"""

import ctypes

import numpy as np

from ._library import AgentsBuffers, AgentsConfig, AgentsShape, ErrorText, Result, library
from .environment import spaces

try:
    from pettingzoo import ParallelEnv as _ParallelBase
except ImportError:

    class _ParallelBase:
        """What PettingZoo's ParallelEnv gives its environments."""

        @property
        def num_agents(self):
            return len(self.agents)

        @property
        def max_num_agents(self):
            return len(self.possible_agents)

        @property
        def unwrapped(self):
            return self

        def __str__(self):
            return self.metadata["name"]


ACTION_MAX = 20.0


class Agents:
    """Sparse rows, one for each agent that is asked now: fast at any number of agents.

    scenario  a file, or the name of a shipped scenario
    jobs      jobs of an episode; 0: as the scenario says
    oracle, load, tail   as those of VectorEnv
    settings  options of policy market, a dict: {"asked": 6}

    After reset and step, agents, jobs, bid_s [rows] and observations [rows, features] have the rows; won [rows] says
    which rows of the step before got their job; rewards [agents], shared_reward, elapsed_s and done what has happened
    since. They are views of arrays that the next step overwrites.
    """

    def __init__(self, scenario, *, jobs=0, oracle=False, load=0.0, tail=0.0, settings=None):
        self._library, self._error, self._handle = library(), ErrorText(), ctypes.c_void_p()
        lines = "\n".join(f"{name}={_word(value)}" for name, value in (settings or {}).items())
        config = AgentsConfig(
            size=ctypes.sizeof(AgentsConfig), scenario=str(scenario).encode(), jobs=jobs, oracle=int(oracle), load=load,
            tail=tail, settings=lines.encode() if lines else None,
        )
        self._error.check(
            self._library.adlro_agents_create(ctypes.byref(config), ctypes.byref(self._handle), self._error.buffer)
        )
        shape = AgentsShape()
        self._library.adlro_agents_shape(self._handle, ctypes.byref(shape), ctypes.sizeof(AgentsShape))
        self.agent_count, self.row_limit, self.feature_count = shape.agents, shape.rows, shape.features
        self._rows = 0
        self._allocate()

    def _allocate(self):
        rows = self.row_limit
        self._arrays = {
            "row_count": np.zeros(1, np.int32),
            "agents": np.zeros(rows, np.int32),
            "jobs": np.zeros(rows, np.uint64),
            "observations": np.zeros((rows, self.feature_count), np.float32),
            "bid_s": np.zeros(rows, np.float64),
            "won": np.zeros(rows, np.uint8),
            "rewards": np.zeros(self.agent_count, np.float64),
            "shared_reward": np.zeros(1, np.float64),
            "elapsed_s": np.zeros(1, np.float64),
            "done": np.zeros(1, np.uint8),
        }
        self._buffers = AgentsBuffers(size=ctypes.sizeof(AgentsBuffers))
        for name, kind in AgentsBuffers._fields_[1:]:
            setattr(self._buffers, name, self._arrays[name].ctypes.data_as(kind))
        self._at = ctypes.byref(self._buffers)
        self._actions = np.zeros(rows, np.float64)

    def _show(self, asked_before):
        arrays = self._arrays
        self._rows = 0 if arrays["done"][0] else int(arrays["row_count"][0])
        for name in ("agents", "jobs", "observations", "bid_s"):
            setattr(self, name, arrays[name][: self._rows])
        self.won = arrays["won"][:asked_before].view(bool)
        self.rewards = arrays["rewards"]
        self.shared_reward, self.elapsed_s = float(arrays["shared_reward"][0]), float(arrays["elapsed_s"][0])
        self.done = bool(arrays["done"][0])

    def reset(self, seed=1):
        self._error.check(self._library.adlro_agents_reset(self._handle, seed, self._at, self._error.buffer))
        self._show(0)

    def step(self, actions):
        """actions: a number for each row."""
        before = self._rows
        self._actions[:before] = actions
        self._error.check(
            self._library.adlro_agents_step(self._handle, self._actions.ctypes.data, self._at, self._error.buffer)
        )
        self._show(before)

    def feature_names(self):
        return [self._library.adlro_agents_feature_name(i).decode() for i in range(self.feature_count)]

    def result(self):
        """The figures of the episode so far, as `adlro compare` computes them."""
        result = Result()
        self._library.adlro_agents_result(self._handle, ctypes.byref(result), ctypes.sizeof(Result))
        return result.as_dict()

    def clone(self):
        """A copy in the middle of its episode: equal actions have equal outcomes in both."""
        copy = object.__new__(Agents)
        copy._library, copy._error, copy._handle = self._library, ErrorText(), ctypes.c_void_p()
        copy.agent_count, copy.row_limit, copy.feature_count = self.agent_count, self.row_limit, self.feature_count
        self._error.check(
            self._library.adlro_agents_clone(self._handle, ctypes.byref(copy._handle), self._error.buffer)
        )
        copy._allocate()
        for name, array in self._arrays.items():
            copy._arrays[name][...] = array
        copy._show(len(self.won))
        return copy

    def restore(self, other):
        """Takes this environment back to where a clone of it is."""
        self._error.check(
            self._library.adlro_agents_restore(self._handle, other._handle, self._at, self._error.buffer)
        )
        self._show(0)

    def close(self):
        if getattr(self, "_handle", None):
            self._library.adlro_agents_destroy(self._handle)
            self._handle = None

    __del__ = close


def _word(value):
    return str(value).lower() if isinstance(value, bool) else str(value)


class ParallelEnv(_ParallelBase):
    """The same as a parallel environment of PettingZoo: dicts by agent, "node_0", "node_1", ...

    All agents live until the end of the episode. One that is not asked in a step observes zeros, and what it does has no
    effect: infos[agent]["asked"] says so. infos also have the job, the hand-written bid in seconds, and whether the
    agent won the job of the step before.

    reward     "shared": all get the reward of the cluster; "own": minus the completion times of the jobs that ended on
               the agent's nodes
    max_steps  steps after which the episode is truncated; None: never
    Other options are those of Agents.
    """

    metadata = {"name": "adlro_market_v0", "render_modes": [], "is_parallelizable": True}

    def __init__(self, scenario, *, reward="shared", max_steps=None, **options):
        if reward not in ("shared", "own"):
            raise ValueError(f'reward must be "shared" or "own", not {reward!r}')
        self.core = Agents(scenario, **options)
        self.reward, self.max_steps, self.render_mode = reward, max_steps, None
        self.possible_agents = [f"node_{i}" for i in range(self.core.agent_count)]
        self.agents, self._seed, self._steps = [], 0, 0
        self._zeros = np.zeros(self.core.feature_count, np.float32)
        if spaces is not None:
            observation = spaces.Box(0.0, 1.0, (self.core.feature_count,), np.float32)
            action = spaces.Box(-ACTION_MAX, ACTION_MAX, (1,), np.float32)
            self.observation_spaces = {agent: observation for agent in self.possible_agents}
            self.action_spaces = {agent: action for agent in self.possible_agents}

    def observation_space(self, agent):
        return self.observation_spaces[agent]

    def action_space(self, agent):
        return self.action_spaces[agent]

    def feature_names(self):
        return self.core.feature_names()

    def reset(self, seed=None, options=None):
        self._seed = self._seed + 1 if seed is None else int(seed)
        self._steps = 0
        self.core.reset(self._seed)
        self.agents = [] if self.core.done else list(self.possible_agents)
        return self._observe(self.possible_agents), self._infos(self.possible_agents, {})

    def step(self, actions):
        """actions: a dict; an agent that is asked and not in it bids as it is written (0)."""
        asked = [self.possible_agents[i] for i in self.core.agents]
        self.core.step([float(np.ravel(actions[agent])[0]) if agent in actions else 0.0 for agent in asked])
        self._steps += 1
        live, core = self.agents, self.core
        over = not core.done and self.max_steps is not None and self._steps >= self.max_steps
        if self.reward == "shared":
            rewards = dict.fromkeys(live, core.shared_reward)
        else:
            rewards = dict(zip(live, core.rewards.tolist()))
        infos = self._infos(live, dict(zip(asked, core.won.tolist())))
        if core.done or over:
            result = core.result()
            for agent in live:
                infos[agent]["result"] = result
            self.agents = []
        return self._observe(live), rewards, dict.fromkeys(live, core.done), dict.fromkeys(live, over), infos

    def _observe(self, agents):
        observations = dict.fromkeys(agents, self._zeros)
        for row, index in enumerate(self.core.agents):
            observations[self.possible_agents[index]] = self.core.observations[row].copy()
        return observations

    def _infos(self, agents, won):
        infos = {agent: {"asked": False, "won": won.get(agent, False)} for agent in agents}
        for row, index in enumerate(self.core.agents):
            infos[self.possible_agents[index]].update(
                asked=True, job=int(self.core.jobs[row]), bid_s=float(self.core.bid_s[row])
            )
        return infos

    def result(self):
        """The figures of the episode so far."""
        return self.core.result()

    def render(self):
        return None

    def close(self):
        self.core.close()
