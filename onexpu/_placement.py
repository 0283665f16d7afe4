"""Which op of TensorFlow ran where: the counters of the device plugin."""

from __future__ import annotations

import ctypes
import dataclasses
import functools
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from onexpu._library import library_directory

if TYPE_CHECKING:
    import rich.table

_ROUTES = {
    "cluster": "XLA cluster",
    "on_demand": "on-demand program",
    "sycl_kernel": "SYCL kernel",
    "host": "host",
}
_VISITOR = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_uint64
)


@dataclasses.dataclass(frozen=True)
class PlacementReport:
    """How often each op ran, by route.

    Attributes
    ----------
    counts : mapping
        From route ("cluster", "on_demand", "sycl_kernel", "host") to a mapping from op to
        executions.
    """

    counts: Mapping[str, Mapping[str, int]]

    def total(self, route: str) -> int:
        """Returns the executions by one route.

        Parameters
        ----------
        route : {"cluster", "on_demand", "sycl_kernel", "host"}

        Returns
        -------
        int
        """
        return sum(self.counts.get(route, {}).values())

    def __rich__(self) -> rich.table.Table:
        import rich.table

        table = rich.table.Table(title="Placement of TensorFlow's ops")
        table.add_column("route")
        table.add_column("executions", justify="right")
        table.add_column("ops")
        for route, title in _ROUTES.items():
            ops = sorted(self.counts.get(route, {}).items(), key=lambda item: (-item[1], item[0]))
            shown = ", ".join(f"{op} {count:,}" for op, count in ops[:12])
            more = f", and {len(ops) - 12} more" if len(ops) > 12 else ""
            table.add_row(title, f"{self.total(route):,}", shown + more or "–")
        return table

    def __str__(self) -> str:
        from onexpu._statistics import render

        return render(self)


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


def placement_report() -> PlacementReport:
    """Returns which op of TensorFlow ran where since `reset_statistics`.

    Returns
    -------
    PlacementReport
        Empty when TensorFlow is not in this process; rich prints it as a table.

    Examples
    --------
    >>> import onexpu, tensorflow as tf
    >>> onexpu.reset_statistics()
    >>> with tf.device("/XPU:0"):
    ...     y = tf.where(tf.constant([True, False, True]))
    >>> onexpu.placement_report().counts["sycl_kernel"]
    {'Where': 1}
    """
    counts: dict[str, dict[str, int]] = {route: {} for route in _ROUTES}

    @_VISITOR
    def visit(_: int, route: bytes, op: bytes, count: int) -> None:
        counts.setdefault(route.decode(), {})[op.decode()] = count

    library = _library()
    if library is not None:
        library.onexpu_tf_placement_counters(visit, None)
    return PlacementReport(counts)
