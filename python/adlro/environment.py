"""The simulator as an environment of Gymnasium: one (Env) or several side by side (VectorEnv).

Observations lie in numpy arrays that the environment allocates once and the library writes to: they are overwritten by
the next step. With copy=True they are copies.
"""

import ctypes

import numpy as np

from ._library import Buffers, Config, ErrorText, Feature, Result, Shape, library

try:
    import gymnasium
    from gymnasium import spaces

    _EnvBase, _VectorBase = gymnasium.Env, gymnasium.vector.VectorEnv
    _NEXT_STEP = getattr(getattr(gymnasium.vector, "AutoresetMode", None), "NEXT_STEP", "next_step")
except ImportError:
    gymnasium = spaces = None
    _EnvBase = _VectorBase = object
    _NEXT_STEP = "next_step"

OBSERVATIONS = {"all": 0, "paper": 1, "actions": 2, "plain": 3}
ROWS = {"gpus": 0, "state": 1, "actions": 2}


def make(scenario, num_envs=None, **options):
    """A VectorEnv of num_envs environments, or an Env if num_envs is None. For the options see VectorEnv."""
    return Env(scenario, **options) if num_envs is None else VectorEnv(scenario, num_envs, **options)


def _file(name):
    return None if name is None else str(name).encode()


class _Core:
    """The environments of the library and the arrays that it writes to."""

    def __init__(self, scenario, count, observation, *, jobs=0, oracle=False, learned=False, load=0.0, tail=0.0,
                 trace=None, throughputs=None, max_steps=None, max_s=None):
        if observation not in OBSERVATIONS:
            raise ValueError(f"observation must be one of {', '.join(OBSERVATIONS)}, not {observation!r}")
        self.library, self.error = library(), ErrorText()
        self.handle = ctypes.c_void_p()
        self.observation = observation
        config = Config(
            size=ctypes.sizeof(Config), scenario=_file(scenario), count=count, jobs=jobs,
            observation=OBSERVATIONS[observation], oracle=int(oracle), load=load, tail=tail, trace=_file(trace),
            throughputs=_file(throughputs), learned=int(learned), max_decisions=max_steps or 0, max_s=max_s or 0.0,
        )
        self.error.check(self.library.adlro_create(ctypes.byref(config), ctypes.byref(self.handle), self.error.buffer))
        self.shape = Shape()
        self.library.adlro_shape(self.handle, ctypes.byref(self.shape), ctypes.sizeof(Shape))
        self._allocate()

    def _allocate(self):
        n, s = self.shape.count, self.shape
        self.arrays = {
            "gpus": np.zeros((n, s.gpus, s.gpu_features), np.float32),
            "state": np.zeros((n, s.state_features), np.float32),
            "actions": np.zeros((n, s.actions, s.action_features), np.float32),
            "mask": np.zeros((n, s.actions), np.uint8),
            "action_count": np.zeros(n, np.int32),
            "member_offset": np.zeros((n, s.actions + 1), np.int32),
            "members": np.zeros((n, s.members), np.int32),
            "reward": np.zeros(n, np.float64),
            "elapsed_s": np.zeros(n, np.float64),
            "done": np.zeros(n, np.uint8),
            "truncated": np.zeros(n, np.uint8),
        }
        self.buffers = Buffers(size=ctypes.sizeof(Buffers))
        for name, kind in Buffers._fields_[1:]:
            setattr(self.buffers, name, self.arrays[name].ctypes.data_as(kind))
        self.chosen = np.zeros(n, np.int32)
        self._chosen_at = self.chosen.ctypes.data
        self._buffers_at = ctypes.byref(self.buffers)

    def reset(self, index, seed):
        self.error.check(self.library.adlro_reset(self.handle, index, seed, self._buffers_at, self.error.buffer))

    def step(self):
        """Carries out self.chosen."""
        status = self.library.adlro_step(self.handle, self._chosen_at, self._buffers_at, self.error.buffer)
        if status:
            self.error.check(status)

    def fit(self, first_seed, episodes):
        self.error.check(self.library.adlro_fit(self.handle, first_seed, episodes, self.error.buffer))

    def result(self, index):
        result = Result()
        self.library.adlro_result(self.handle, index, ctypes.byref(result), ctypes.sizeof(Result))
        return result.as_dict()

    def clone(self):
        copy = object.__new__(_Core)
        copy.library, copy.error, copy.shape, copy.observation = self.library, ErrorText(), self.shape, self.observation
        copy.handle = ctypes.c_void_p()
        self.error.check(self.library.adlro_clone(self.handle, ctypes.byref(copy.handle), self.error.buffer))
        copy._allocate()
        for name, array in self.arrays.items():
            copy.arrays[name][...] = array
        return copy

    def restore(self, index, other, other_index):
        self.error.check(
            self.library.adlro_restore(
                self.handle, index, other.handle, other_index, self._buffers_at, self.error.buffer
            )
        )

    def policy_action(self, index, policy):
        """The number of the offered action that the policy would take, or -1."""
        action = ctypes.c_int32()
        self.error.check(
            self.library.adlro_policy_action(
                self.handle, index, policy.encode(), ctypes.byref(action), self.error.buffer
            )
        )
        return action.value

    def features(self, row):
        found, feature, kind = [], Feature(), OBSERVATIONS[self.observation]
        while not self.library.adlro_feature(kind, ROWS[row], len(found), ctypes.byref(feature), ctypes.sizeof(Feature)):
            found.append(feature.as_dict())
        return found

    def feature_names(self, row):
        return [feature["name"] for feature in self.features(row)]

    def close(self):
        if getattr(self, "handle", None):
            self.library.adlro_destroy(self.handle)
            self.handle = None

    __del__ = close

    def observed(self):
        """The arrays that make an observation; the mask as gymnasium's spaces have and take it."""
        parts = [name for name in ("gpus", "state", "actions") if self.arrays[name][0].size]
        return {**{name: self.arrays[name] for name in parts}, "mask": self.arrays["mask"].view(np.int8)}


def _single_space(core):
    if spaces is None:
        return None
    parts = {}
    for name, array in core.observed().items():
        shape = array.shape[1:]
        parts[name] = spaces.MultiBinary(shape) if name == "mask" else spaces.Box(-1.0, 1.0, shape, np.float32)
    return spaces.Dict(parts)


class VectorEnv(_VectorBase):
    """num_envs environments that step together, each with its own clock and seed.

    scenario     a file, or the name of a shipped scenario ("paper16")
    jobs         jobs of an episode; 0: as the scenario says
    observation  "actions" (default; its size does not depend on the cluster), "all" (with a row for each GPU), "plain"
                 (without the plan of policy adlro: fewer features, ten times the decisions a second), or "paper" (the
                 state of the ADLRO paper)
    oracle       run times are known exactly, for bounds
    learned      run times are predicted from completed jobs, not from users' limits
    load, tail   see docs/environment.md
    trace        a file of recorded jobs (docs/traces.md) in place of the scenario's workload; scenario is then a
                 cluster ("pool64"). With jobs=N an episode is N consecutive jobs from a place that the seed draws
    throughputs  JSON with measured speeds, for scenarios and traces that need it (gavel108)
    max_steps    decisions after which an episode is truncated; None: never
    max_s        time in the simulation after which it is truncated; None: never
    copy         observations are copies and not views of the environment's arrays

    An observation is a dict of arrays: "state" [n, features], "actions" [n, actions, features], "mask" [n, actions], and
    "gpus" [n, gpus, features] if observation is "all". Only actions with mask 1 may be chosen. An episode that has ended
    is followed by another at the next step, with the next seed and reward 0 (autoreset mode "next step").
    """

    metadata = {"render_modes": [], "autoreset_mode": _NEXT_STEP}

    def __init__(self, scenario, num_envs=1, *, observation="actions", copy=False, **options):
        self._core = _Core(scenario, num_envs, observation, **options)
        self.num_envs = num_envs
        self.copy = copy
        self.render_mode = None
        self.closed = False
        self._observation = self._core.observed()
        self._ended = np.zeros(num_envs, bool)
        self._seeds = np.arange(1, num_envs + 1)
        if spaces is not None:
            self.single_observation_space = _single_space(self._core)
            self.single_action_space = spaces.Discrete(self._core.shape.actions)
            self.observation_space = gymnasium.vector.utils.batch_space(self.single_observation_space, num_envs)
            self.action_space = gymnasium.vector.utils.batch_space(self.single_action_space, num_envs)

    def feature_names(self, row):
        """The names of the features of a row "gpus", "state" or "actions" (docs/features.md)."""
        return self._core.feature_names(row)

    def features(self, row):
        """What each column of a row is: a dict with name, source, unit, low, high, scale and stale_s."""
        return self._core.features(row)

    def policy_actions(self, policy):
        """What would this policy do here? For each environment the number of the offered action that it would take, or
        -1: it would start a job that is not offered, or stop one; or the episode has ended."""
        ended = self._core.arrays["done"]
        return np.array([-1 if ended[i] else self._core.policy_action(i, policy) for i in range(self.num_envs)], np.int32)

    def fit(self, first_seed=1, episodes=8):
        """Plays episodes to learn the spread of features without a natural range. Use training seeds."""
        self._core.fit(first_seed, episodes)

    def reset(self, *, seed=None, options=None):
        """seed: one for each environment, or the first of consecutive ones."""
        if seed is not None:
            self._seeds = np.arange(seed, seed + self.num_envs) if np.isscalar(seed) else np.array(seed, np.int64)
            if self._seeds.shape != (self.num_envs,):
                raise ValueError(f"seed must be a number or {self.num_envs} numbers")
        for index, first in enumerate(self._seeds):
            self._core.reset(index, int(first))
        self._ended[:] = False
        return self._observe(), self._info()

    def step(self, actions):
        core = self._core
        core.chosen[:] = actions
        core.step()
        reward = core.arrays["reward"]
        if self._ended.any():
            self._begin_again(reward)
        info = self._info()
        truncated = core.arrays["truncated"].astype(bool)
        self._ended = core.arrays["done"].astype(bool)
        if self._ended.any():
            info["result"] = [core.result(i) if ended else None for i, ended in enumerate(self._ended)]
        return self._observe(), self._give(reward), self._ended & ~truncated, truncated, info

    def _begin_again(self, reward):
        for index in np.flatnonzero(self._ended):
            self._seeds[index] += self.num_envs
            self._core.reset(int(index), int(self._seeds[index]))
            reward[index] = 0.0

    def _give(self, array):
        return array.copy() if self.copy else array

    def _observe(self):
        return {name: array.copy() for name, array in self._observation.items()} if self.copy else self._observation

    def _info(self):
        return {"action_mask": self._give(self._observation["mask"]), "elapsed_s": self._give(self._core.arrays["elapsed_s"])}

    def results(self):
        """The figures of every episode so far, as `adlro compare` computes them."""
        return [self._core.result(index) for index in range(self.num_envs)]

    def clone(self):
        """A copy in the middle of its episodes: equal actions have equal outcomes in both."""
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__)
        copy._core = self._core.clone()
        copy._observation = copy._core.observed()
        copy._ended, copy._seeds = self._ended.copy(), self._seeds.copy()
        return copy

    def restore(self, other):
        """Takes every environment back to where a clone of this one is. Returns the observation there."""
        for index in range(self.num_envs):
            self._core.restore(index, other._core, index)
        self._ended, self._seeds = other._ended.copy(), other._seeds.copy()
        return self._observe()

    def close(self, **_):
        self._core.close()
        self.closed = True


class Env(_EnvBase):
    """One environment; the options are those of VectorEnv. An action that is not offered is an error, or with
    on_invalid="last" the last one that is offered, usually to wait."""

    metadata = {"render_modes": []}

    def __init__(self, scenario, *, on_invalid="raise", **options):
        options.setdefault("copy", True)
        if on_invalid not in ("raise", "last"):
            raise ValueError('on_invalid must be "raise" or "last"')
        self._vector = VectorEnv(scenario, 1, **options)
        self._on_invalid = on_invalid
        self.render_mode = None
        if spaces is not None:
            self.observation_space = self._vector.single_observation_space
            self.action_space = self._vector.single_action_space

    def reset(self, *, seed=None, options=None):
        if _EnvBase is not object:
            super().reset(seed=seed)
        self._vector._seeds = np.array([seed if seed is not None else int(self._vector._seeds[0]) + 1])
        observation, info = self._vector.reset()
        return self._first(observation), {"action_mask": info["action_mask"][0]}

    def step(self, action):
        offered = int(self._vector._core.arrays["action_count"][0])
        if self._on_invalid == "last" and not 0 <= action < offered:
            action = offered - 1
        observation, reward, terminated, truncated, info = self._vector.step([action])
        self._vector._ended[:] = False  # reset is the caller's
        details = {"action_mask": info["action_mask"][0], "elapsed_s": float(info["elapsed_s"][0])}
        if "result" in info:
            details["result"] = info["result"][0]
        return self._first(observation), float(reward[0]), bool(terminated[0]), bool(truncated[0]), details

    @staticmethod
    def _first(observation):
        return {name: array[0] for name, array in observation.items()}

    def feature_names(self, row):
        return self._vector.feature_names(row)

    def features(self, row):
        return self._vector.features(row)

    def policy_action(self, policy):
        """The number of the offered action that this policy would take here, or -1."""
        return int(self._vector.policy_actions(policy)[0])

    def fit(self, first_seed=1, episodes=8):
        self._vector.fit(first_seed, episodes)

    def result(self):
        """The figures of the episode so far."""
        return self._vector.results()[0]

    def clone(self):
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__)
        copy._vector = self._vector.clone()
        return copy

    def restore(self, other):
        return self._first(self._vector.restore(other._vector))

    def close(self):
        self._vector.close()
