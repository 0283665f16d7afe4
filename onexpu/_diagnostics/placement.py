"""Which op of TensorFlow ran where, and why: the counters of the device plugin."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from onexpu._diagnostics import placement_counters as counters
from onexpu._diagnostics.statistics import TransferStatistics, transfer_statistics
from onexpu._diagnostics.text import render

if TYPE_CHECKING:
    import rich.table

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
    """How often each op ran on each route, and why ops ran on the host.

    Attributes
    ----------
    counts : mapping
        Maps each route ("cluster", "on_demand", "sycl_kernel", "host") to a mapping from op to
        executions.
    reasons : mapping
        Maps each op on the host to a mapping from reason to executions.
    transfers : TransferStatistics or None
        The copies of the reported call; None for a report since `reset_statistics`.
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
                for why, executions in sorted(
                    reasons.items(), key=lambda item: (-item[1], item[0])
                ):
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
        return render(self)


def _read() -> PlacementReport:
    return PlacementReport(*counters.read(_ROUTES))


def placement_report(
    function: Callable[..., Any] | None = None, /, *args: Any, **kwargs: Any
) -> PlacementReport:
    """Returns which op of TensorFlow ran where, and why.

    With a function or model, the report covers one call: its ops, eager ops on the host included,
    and the bytes that it copies between host and device. Without a function, it covers the time
    since `reset_statistics`, except ops that eager code ran on the host.
    ``ONEXPU_PLACEMENT=strict``, set before TensorFlow is imported, makes an unexpected op on the
    host an error.

    Parameters
    ----------
    function : callable, optional
        A function, ``tf.function`` or Keras model. It is called twice, and the report covers the
        second call, so that it contains neither tracing nor compilation.
    *args, **kwargs
        The arguments of the call.

    Returns
    -------
    PlacementReport
        Empty if TensorFlow is not in this process; rich prints it as a table.

    Raises
    ------
    Exception
        If `function` raises it.

    Examples
    --------
    >>> import onexpu, tensorflow as tf
    >>> report = onexpu.placement_report(lambda x: tf.where(x > 2), tf.constant([1.0, 3.0]))
    >>> report.counts["sycl_kernel"], report.counts["on_demand"]
    ({'Where': 1}, {'Greater': 1})
    """
    if function is None:
        return _read()

    # The call imports TensorFlow if it is not imported yet.
    function(*args, **kwargs)
    counters.watch(True)
    try:
        before, transfers = _read(), transfer_statistics()
        function(*args, **kwargs)
        report = _read() - before
        return dataclasses.replace(report, transfers=transfer_statistics() - transfers)
    finally:
        counters.watch(False)
