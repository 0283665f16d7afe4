"""The counters of the device plugin: how often each op of TensorFlow ran, by route."""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Iterable

from onexpu._library import library_directory

_VISITOR = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_uint64
)


@functools.cache
def _library() -> ctypes.CDLL | None:
    """Returns the plugin that TensorFlow has loaded, None when it has not."""
    path = library_directory().parent.parent / "tensorflow-plugins" / "libonexpu_tf.so"
    try:
        return ctypes.CDLL(str(path), mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
    except OSError:
        return None


def reset() -> None:
    """Sets the counters to zero."""
    library = _library()
    if library is not None:
        library.onexpu_tf_reset_placement_counters()


def watch(is_watched: bool) -> None:
    """Starts or stops counting the ops that eager code runs on the host."""
    library = _library()
    if library is not None:
        library.onexpu_tf_watch_placement(int(is_watched))


def read(routes: Iterable[str]) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, int]]]:
    """Returns executions by route and op, and for each op on the host by reason."""
    counts: dict[str, dict[str, int]] = {route: {} for route in routes}
    reasons: dict[str, dict[str, int]] = {}

    def visit(_: int, route: bytes, op: bytes, reason: bytes, count: int) -> None:
        ops, name = counts[route.decode()], op.decode()
        ops[name] = ops.get(name, 0) + count
        if reason:
            reasons.setdefault(name, {})[reason.decode()] = count

    library = _library()
    if library is not None:
        library.onexpu_tf_placement_counters(_VISITOR(visit), None)
    return counts, reasons
