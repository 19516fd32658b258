"""Policies written in Python: slow, and judged by the same engine, validation and metrics as those in C."""

from .environment import VectorEnv


class Choice:
    """An action that is offered: its features by name."""

    __slots__ = ("index", "_names", "_row")

    def __init__(self, index, names, row):
        self.index, self._names, self._row = index, names, row

    def __getitem__(self, feature):
        return float(self._row[self._names[feature]])

    def __iter__(self):
        return iter(self._names)

    def as_dict(self):
        return {name: float(self._row[at]) for name, at in self._names.items()}


class View:
    """What a policy sees at a decision: features of the state by name, and the choices."""

    __slots__ = ("choices", "_names", "_row")

    def __init__(self, names, row, choices):
        self._names, self._row, self.choices = names, row, choices

    def __getitem__(self, feature):
        return float(self._row[self._names[feature]])

    def as_dict(self):
        return {name: float(self._row[at]) for name, at in self._names.items()}


class Policy:
    """Subclass it and write decide(view), which returns one of view.choices."""

    name = "python"

    def decide(self, view):
        raise NotImplementedError("write decide(view): it returns one of view.choices")


def play(policy, scenario, seeds, **options):
    """Plays one episode for each seed and returns the figures of each as a list of dicts that pandas takes. The figures
    are those of `adlro compare` for the same seeds. The options are those of VectorEnv."""
    rows = []
    env = VectorEnv(scenario, 1, **options)
    state_names = {name: i for i, name in enumerate(env.feature_names("state"))}
    action_names = {name: i for i, name in enumerate(env.feature_names("actions"))}
    for seed in seeds:
        observation, _ = env.reset(seed=int(seed))
        while not env._core.arrays["done"][0]:
            offered = int(env._core.arrays["action_count"][0])
            choices = [Choice(i, action_names, observation["actions"][0, i]) for i in range(offered)]
            choice = policy.decide(View(state_names, observation["state"][0], choices))
            if not isinstance(choice, Choice):
                raise TypeError(f"decide() must return one of view.choices, not {choice!r}")
            env._core.chosen[0] = choice.index
            env._core.step()
        rows.append({"policy": policy.name, "scenario": str(scenario), "seed": int(seed), **env.results()[0]})
    env.close()
    return rows
