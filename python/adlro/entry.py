"""A policy in Python for `adlro compare`, `simulate` and `arena`: the program runs the file and asks it at every decision.

    # mine.py
    import adlro

    def decide(view):
        for job in sorted(view.waiting, key=lambda job: min(filter(None, job.predicted_s))):
            if view.start(job):
                return

    adlro.enter(decide)

    adlro compare paper16 --policy-plugin mine.py --policies mine,easy
    adlro arena --quick --entry mine.py

The view is that of include/adlro/policy.h: what the information regime shows to every policy. docs/policies.md has the
protocol.
"""

import os
import sys
from collections.abc import Sequence

PAGE = 256  # jobs that are read at a time


class Type:
    """A type of GPU of the cluster."""

    __slots__ = ("index", "name", "gpus", "free_gpus", "memory_mib")

    def __init__(self, index, line):
        name, gpus, free, memory = line.rsplit(" ", 3)
        self.index, self.name, self.gpus, self.free_gpus, self.memory_mib = index, name, int(gpus), int(free), int(memory)


class Job:
    """A waiting or running job. predicted_s has the predicted time to run the rest on each type; None: it cannot."""

    __slots__ = ("handle", "id", "user", "gpus", "types", "priority", "age_s", "waited_s", "limit_s", "running_s", "type",
                 "preemptible", "stopping", "predicted_s")

    def __init__(self, line):
        words = line.split()
        self.handle, self.id, self.user, self.gpus, self.types = map(int, words[:5])
        self.priority = float(words[5])
        self.age_s, self.waited_s, self.limit_s, self.running_s = (int(word) * 1e-6 for word in words[6:10])
        self.type = int(words[10])
        self.preemptible, self.stopping = words[11] == "1", words[12] == "1"
        self.predicted_s = [int(word) * 1e-6 if int(word) > 0 else None for word in words[13:]]

    def runs_on(self, index):
        """Whether the type of this number is one that it may and can run on."""
        return bool(self.types >> index & 1)


class _Jobs(Sequence):
    """Jobs that are read when they are looked at, in order of submission."""

    def __init__(self, talk, verb, count):
        self._talk, self._verb, self._count, self._read = talk, verb, count, []

    def __len__(self):
        return self._count

    def __getitem__(self, index):
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(self._count))]
        if not -self._count <= index < self._count:
            raise IndexError(index)
        index %= self._count
        while len(self._read) <= index:
            count = int(self._talk.ask(f"{self._verb} {len(self._read)} {PAGE}"))
            self._read += [Job(self._talk.read()) for _ in range(count)]
        return self._read[index]


class DecisionView:
    """What a policy sees at a decision, and what it can do: one start a decision, after which it is asked again."""

    def __init__(self, talk, now_us, types, waiting, running):
        self._talk, self._types, self._type_count = talk, None, types
        self.now_s = now_us * 1e-6
        self.waiting, self.running = _Jobs(talk, "waiting", waiting), _Jobs(talk, "running", running)

    @property
    def types(self):
        if self._types is None:
            lines = [self._talk.ask("types")] + [self._talk.read() for _ in range(self._type_count - 1)]
            self._types = [Type(index, line) for index, line in enumerate(lines)]
        return self._types

    def start(self, job, types=None):
        """Proposes to start a waiting job on free GPUs of one of these types (numbers; None: any that it can run on), the
        fastest for it first. False: it does not fit, or a start was proposed already."""
        mask = job.types if types is None else sum(1 << index for index in set(types))
        return self._talk.ask(f"start {job.handle} {mask}") == "1"

    def stop(self, job):
        """Proposes to stop a running job, which returns to the queue. False: it cannot be stopped."""
        return self._talk.ask(f"stop {job.handle}") == "1"

    def wake(self, time_s):
        """Asks for a decision at this time, if nothing happens before."""
        self._talk.write(f"wake {max(0, round(time_s * 1e6))}")


class _Talk:
    def __init__(self):
        self._in = os.fdopen(os.dup(0), "r", encoding="utf-8", newline="\n")
        self._out = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
        os.dup2(2, 1)  # what the policy prints is no answer
        self.write("ready")

    def read(self):
        return self._in.readline().rstrip("\n")

    def write(self, line):
        self._out.write(line + "\n")
        self._out.flush()

    def ask(self, line):
        self.write(line)
        return self.read()


def enter(policy):
    """Serves decisions until the run is over. policy: decide(view), or an object with this method and, if it wants the
    seed, begin(seed)."""
    if sys.stdin.isatty():
        sys.exit(f"{sys.argv[0]}: a policy: adlro compare paper16 --policy-plugin {sys.argv[0]} --policies ...,easy")
    talk = _Talk()
    decide = getattr(policy, "decide", policy)
    for line in iter(talk.read, ""):
        verb, *words = line.split()
        if verb == "begin" and hasattr(policy, "begin"):
            policy.begin(int(words[0]))
        elif verb == "decide":
            decide(DecisionView(talk, *map(int, words)))
            talk.write("end")
