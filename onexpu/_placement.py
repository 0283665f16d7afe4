"""Which op of TensorFlow ran where, and why: the counters of the device plugin."""

from __future__ import annotations

import ctypes
import dataclasses
import functools
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from onexpu._library import library_directory

if TYPE_CHECKING:
    import rich.table

    from onexpu._statistics import TransferStatistics

_ROUTES = {
    "cluster": "XLA cluster",
    "on_demand": "on-demand program",
    "sycl_kernel": "SYCL kernel",
    "host": "host",
}
_ROUTE_REASONS = {
    "cluster": "compiled together with others",
    "on_demand": "compiled alone",
    "sycl_kernel": "a kernel of its own on the device",
}
_VISITOR = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_uint64
)

_Table = Mapping[str, Mapping[str, int]]


def _since(table: _Table, earlier: _Table) -> dict[str, dict[str, int]]:
    """Returns what was added to each count, without those to which nothing was."""
    added = {}
    for row, counts in table.items():
        before = earlier.get(row, {})
        since = {name: count - before.get(name, 0) for name, count in counts.items()}
        added[row] = {name: count for name, count in since.items() if count}
    return added


@dataclasses.dataclass(frozen=True)
class PlacementReport:
    """How often each op ran, by route, and why those on the host are there.

    Attributes
    ----------
    counts : mapping
        From route ("cluster", "on_demand", "sycl_kernel", "host") to a mapping from op to
        executions.
    reasons : mapping
        From each op on the host to a mapping from reason to executions.
    transfers : TransferStatistics or None
        What the reported call copied; None for a report since `reset_statistics`.
    """

    counts: _Table
    reasons: _Table = dataclasses.field(default_factory=dict)
    transfers: TransferStatistics | None = None

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

    def __sub__(self, earlier: PlacementReport) -> PlacementReport:
        reasons = _since(self.reasons, earlier.reasons)
        return PlacementReport(
            _since(self.counts, earlier.counts), {op: why for op, why in reasons.items() if why}
        )

    def __rich__(self) -> rich.table.Table:
        import rich.table

        table = rich.table.Table(title="Placement of TensorFlow's ops")
        for column in ("op", "route"):
            table.add_column(column)
        table.add_column("executions", justify="right")
        table.add_column("why")
        for route, title in _ROUTES.items():
            ops = sorted(self.counts.get(route, {}).items(), key=lambda item: (-item[1], item[0]))
            for op, count in ops:
                only = {_ROUTE_REASONS.get(route, ""): count}
                reasons = self.reasons.get(op, only) if route == "host" else only
                for why, executions in sorted(reasons.items(), key=lambda item: (-item[1], item[0])):
                    table.add_row(op, title, f"{executions:,}", why)
        table.caption = ", ".join(
            f"{title}: {self.total(route):,}" for route, title in _ROUTES.items()
        )
        if self.transfers is not None:
            to_device = self.transfers.bytes("host_to_device")
            to_host = self.transfers.bytes("device_to_host")
            table.caption += f"; {to_device:,} bytes to the device, {to_host:,} to the host"
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


def _read() -> PlacementReport:
    counts: dict[str, dict[str, int]] = {route: {} for route in _ROUTES}
    reasons: dict[str, dict[str, int]] = {}

    @_VISITOR
    def visit(_: int, route: bytes, op: bytes, reason: bytes, count: int) -> None:
        ops, name = counts[route.decode()], op.decode()
        ops[name] = ops.get(name, 0) + count
        if reason:
            reasons.setdefault(name, {})[reason.decode()] = count

    library = _library()
    if library is not None:
        library.onexpu_tf_placement_counters(visit, None)
    return PlacementReport(counts, reasons)


def placement_report(
    function: Callable[..., Any] | None = None, /, *args: Any, **kwargs: Any
) -> PlacementReport:
    """Returns which op of TensorFlow ran where, and why.

    Without arguments: since `reset_statistics`, but for ops that eager code ran on the host. With
    a function or model: what one call of it runs, eager ops on the host included, and how many bytes
    it copies between host and device. To make an op on the host an error, set
    ``ONEXPU_PLACEMENT=strict`` before TensorFlow is imported.

    Parameters
    ----------
    function : callable, optional
        A function, ``tf.function`` or Keras model, called once more before it is measured, so that
        neither tracing nor compilation is in the report.
    *args, **kwargs
        What it is called with.

    Returns
    -------
    PlacementReport
        Empty when TensorFlow is not in this process; rich prints it as a table.

    Raises
    ------
    Exception
        What `function` raises.

    Examples
    --------
    >>> import onexpu, tensorflow as tf
    >>> report = onexpu.placement_report(lambda x: tf.where(x > 2), tf.constant([1.0, 3.0]))
    >>> report.counts["sycl_kernel"], report.counts["on_demand"]
    ({'Where': 1}, {'Greater': 1})
    """
    if function is None:
        return _read()
    from onexpu._statistics import transfer_statistics

    # The call imports TensorFlow, if nobody has before.
    function(*args, **kwargs)
    library = _library()
    if library is not None:
        library.onexpu_tf_watch_placement(1)
    try:
        before, transfers = _read(), transfer_statistics()
        function(*args, **kwargs)
        report = _read() - before
        return dataclasses.replace(report, transfers=transfer_statistics() - transfers)
    finally:
        if library is not None:
            library.onexpu_tf_watch_placement(0)
