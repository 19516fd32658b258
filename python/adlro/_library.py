"""The shared library libadlro.so through ctypes, and where it and the program adlro are."""

import ctypes
import ctypes.util
import os
import shutil
from ctypes import POINTER, c_char, c_char_p, c_double, c_float, c_int, c_int32, c_size_t, c_uint8, c_uint32, c_uint64, c_void_p
from pathlib import Path

ERROR_SIZE = 400
HERE = Path(__file__).resolve().parent


class Error(Exception):
    """The library or the program refused something; the text says what would be right."""


class Config(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("scenario", c_char_p),
        ("count", c_uint32),
        ("jobs", c_uint64),
        ("observation", c_int),
        ("oracle", c_int),
        ("load", c_double),
        ("tail", c_double),
        ("trace", c_char_p),
        ("throughputs", c_char_p),
        ("learned", c_int),
        ("max_decisions", c_uint64),
        ("max_s", c_double),
    ]


class Shape(ctypes.Structure):
    _fields_ = [
        (name, c_uint32)
        for name in ("count", "gpus", "gpu_features", "state_features", "actions", "action_features", "members")
    ]


class Buffers(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("gpus", POINTER(c_float)),
        ("state", POINTER(c_float)),
        ("actions", POINTER(c_float)),
        ("mask", POINTER(c_uint8)),
        ("action_count", POINTER(c_int32)),
        ("member_offset", POINTER(c_int32)),
        ("members", POINTER(c_int32)),
        ("reward", POINTER(c_double)),
        ("elapsed_s", POINTER(c_double)),
        ("done", POINTER(c_uint8)),
        ("truncated", POINTER(c_uint8)),
    ]


class Result(ctypes.Structure):
    _fields_ = [
        ("jobs", c_uint64),
        ("jct_mean_s", c_double),
        ("jct_p99_s", c_double),
        ("throughput_jobs_per_h", c_double),
        ("gpu_utilization", c_double),
        ("makespan_s", c_double),
        ("reward", c_double),
        ("energy_j", c_double),
        ("sla_attainment", c_double),
        ("sla_jobs", c_uint64),
        ("wait_mean_s", c_double),
        ("slowdown_mean", c_double),
        ("timeouts", c_uint64),
        ("evictions", c_uint64),
    ]

    def as_dict(self):
        return {name: getattr(self, name) for name, _ in self._fields_}


class Feature(ctypes.Structure):
    SCALES = ("flag", "linear", "log", "spread", "spread_log")
    _fields_ = [
        ("name", c_char_p),
        ("source", c_char_p),
        ("unit", c_char_p),
        ("low", c_double),
        ("high", c_double),
        ("scale", c_int),
        ("stale_s", c_double),
    ]

    def as_dict(self):
        texts = {name: getattr(self, name).decode() for name in ("name", "source", "unit")}
        return {**texts, "low": self.low, "high": self.high, "scale": self.SCALES[self.scale], "stale_s": self.stale_s}


class AgentsConfig(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("scenario", c_char_p),
        ("jobs", c_uint64),
        ("oracle", c_int),
        ("load", c_double),
        ("tail", c_double),
        ("settings", c_char_p),
    ]


class AgentsShape(ctypes.Structure):
    _fields_ = [(name, c_uint32) for name in ("agents", "rows", "features")]


class AgentsBuffers(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("row_count", POINTER(c_int32)),
        ("agents", POINTER(c_int32)),
        ("jobs", POINTER(c_uint64)),
        ("observations", POINTER(c_float)),
        ("bid_s", POINTER(c_double)),
        ("won", POINTER(c_uint8)),
        ("rewards", POINTER(c_double)),
        ("shared_reward", POINTER(c_double)),
        ("elapsed_s", POINTER(c_double)),
        ("done", POINTER(c_uint8)),
    ]


FUNCTIONS = {
    "adlro_version": (c_char_p, []),
    "adlro_feature_name": (c_char_p, [c_int, c_int, c_uint32]),
    "adlro_feature": (c_int, [c_int, c_int, c_uint32, POINTER(Feature), c_size_t]),
    "adlro_create": (c_int, [POINTER(Config), POINTER(c_void_p), c_char_p]),
    "adlro_destroy": (None, [c_void_p]),
    "adlro_shape": (None, [c_void_p, POINTER(Shape), c_size_t]),
    "adlro_fit": (c_int, [c_void_p, c_uint64, c_uint32, c_char_p]),
    "adlro_reset": (c_int, [c_void_p, c_uint32, c_uint64, POINTER(Buffers), c_char_p]),
    "adlro_step": (c_int, [c_void_p, c_void_p, POINTER(Buffers), c_char_p]),
    "adlro_clone": (c_int, [c_void_p, POINTER(c_void_p), c_char_p]),
    "adlro_restore": (c_int, [c_void_p, c_uint32, c_void_p, c_uint32, POINTER(Buffers), c_char_p]),
    "adlro_policy_action": (c_int, [c_void_p, c_uint32, c_char_p, POINTER(c_int32), c_char_p]),
    "adlro_agents_feature_name": (c_char_p, [c_uint32]),
    "adlro_agents_create": (c_int, [POINTER(AgentsConfig), POINTER(c_void_p), c_char_p]),
    "adlro_agents_destroy": (None, [c_void_p]),
    "adlro_agents_shape": (None, [c_void_p, POINTER(AgentsShape), c_size_t]),
    "adlro_agents_reset": (c_int, [c_void_p, c_uint64, POINTER(AgentsBuffers), c_char_p]),
    "adlro_agents_step": (c_int, [c_void_p, c_void_p, POINTER(AgentsBuffers), c_char_p]),
    "adlro_agents_clone": (c_int, [c_void_p, POINTER(c_void_p), c_char_p]),
    "adlro_agents_restore": (c_int, [c_void_p, c_void_p, POINTER(AgentsBuffers), c_char_p]),
    "adlro_agents_result": (None, [c_void_p, POINTER(Result), c_size_t]),
    "adlro_result": (None, [c_void_p, c_uint32, POINTER(Result), c_size_t]),
}


def _builds():
    """Folders of a source tree in which the library and the program may have been built."""
    tree = HERE.parent.parent
    return [tree / "build"] if (tree / "packaging" / "adlro.map").exists() else []


def library_path():
    """$ADLRO_LIBRARY, that of the source tree, or the system's."""
    if "ADLRO_LIBRARY" in os.environ:
        return os.environ["ADLRO_LIBRARY"]
    for folder in _builds() + [HERE, HERE.parent.parent.parent, HERE.parent.parent.parent / "lib"]:
        for name in sorted(folder.glob("libadlro.so*")):
            return str(name)
    found = ctypes.util.find_library("adlro")
    if found:
        return found
    raise Error("libadlro.so is not there: build it with ./run, install adlro, or name it in ADLRO_LIBRARY")


def program_path():
    """$ADLRO_PROGRAM, that of the source tree, or the one in PATH."""
    if "ADLRO_PROGRAM" in os.environ:
        return os.environ["ADLRO_PROGRAM"]
    for folder in _builds():
        if (folder / "adlro").is_file():
            return str(folder / "adlro")
    found = shutil.which("adlro")
    if found:
        return found
    raise Error("the program adlro is not there: build it with ./run, install it, or name it in ADLRO_PROGRAM")


_loaded = None


def library():
    """The library, loaded at its first use."""
    global _loaded
    if _loaded is None:
        path = library_path()
        try:
            loaded = ctypes.CDLL(path)
            for name, (result, arguments) in FUNCTIONS.items():
                function = getattr(loaded, name)
                function.restype, function.argtypes = result, arguments
        except (OSError, AttributeError) as problem:
            raise Error(f"{path} cannot be used: {problem}") from None
        _loaded = loaded
    return _loaded


def version():
    """The version of the library."""
    return library().adlro_version().decode()


class ErrorText:
    """The buffer that the library writes its messages to."""

    def __init__(self):
        self.buffer = (c_char * ERROR_SIZE)()

    def check(self, status):
        if status:
            raise Error(self.buffer.value.decode(errors="replace"))
