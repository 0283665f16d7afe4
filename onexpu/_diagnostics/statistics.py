"""What was copied, what was run, how much memory is in use."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING

from onexpu._diagnostics import placement_counters
from onexpu._diagnostics.text import render

if TYPE_CHECKING:
    import rich.table

_Key = tuple[str, str, str]


@dataclasses.dataclass(frozen=True)
class TransferStatistics:
    """Transfers and launches since the last `reset_statistics`.

    The difference of two covers the time between them.

    Attributes
    ----------
    transfers : mapping
        Maps (direction, origin, function) to (count, bytes). Directions are "host_to_device",
        "device_to_host" and "device_to_device"; the origin is the framework or library that
        requested the transfer.
    programs_executed, kernels_launched, library_calls, eager_launches : int
        Counts of compiled programs, SPIR-V kernels, calls of oneDNN and oneMKL, and kernels outside
        of programs.
    """

    transfers: Mapping[_Key, tuple[int, int]]
    programs_executed: int = 0
    kernels_launched: int = 0
    library_calls: int = 0
    eager_launches: int = 0

    def bytes(self, direction: str) -> int:
        """Returns the bytes that were copied in a direction.

        Parameters
        ----------
        direction : {"host_to_device", "device_to_host", "device_to_device"}

        Returns
        -------
        int
        """
        return sum(size for (key, _, _), (_, size) in self.transfers.items() if key == direction)

    @property
    def total_bytes(self) -> int:
        """Bytes of all directions."""
        return sum(size for _, size in self.transfers.values())

    def __sub__(self, earlier: TransferStatistics) -> TransferStatistics:
        transfers = {}
        for key, (count, size) in self.transfers.items():
            count_before, size_before = earlier.transfers.get(key, (0, 0))
            if (count, size) != (count_before, size_before):
                transfers[key] = (count - count_before, size - size_before)
        counters = (f.name for f in dataclasses.fields(self) if f.name != "transfers")
        return TransferStatistics(
            transfers, **{name: getattr(self, name) - getattr(earlier, name) for name in counters}
        )

    def __rich__(self) -> rich.table.Table:
        import rich.table

        table = rich.table.Table(title="Transfers")
        for column in ("direction", "asked by", "through"):
            table.add_column(column)
        for column in ("number", "bytes"):
            table.add_column(column, justify="right")
        for (direction, origin, function), (count, size) in sorted(self.transfers.items()):
            table.add_row(direction.replace("_", " "), origin, function, f"{count:,}", f"{size:,}")
        table.caption = (
            f"{self.programs_executed:,} programs, {self.kernels_launched:,} kernels, "
            f"{self.library_calls:,} library calls, {self.eager_launches:,} eager launches"
        )
        return table

    def __str__(self) -> str:
        return render(self)


def _read() -> TransferStatistics:
    from onexpu import _native

    values = _native.statistics()
    transfers = {
        (direction, origin, function): (count, size)
        for direction, origin, function, count, size in values["transfers"]
    }
    return TransferStatistics(
        transfers,
        programs_executed=values["programs_executed"],
        kernels_launched=values["kernels_launched"],
        library_calls=values["library_calls"],
        eager_launches=values["eager_launches"],
    )


_baseline = TransferStatistics({})


def transfer_statistics() -> TransferStatistics:
    """Returns the copies between host and device, and the launches, since `reset_statistics`.

    Returns
    -------
    TransferStatistics
        The difference of two covers the time between them; rich prints it as a table.

    Examples
    --------
    >>> import jax, jax.numpy as jnp, onexpu
    >>> x = jax.device_put(jnp.ones(256), jax.devices("xpu")[0])
    >>> before = onexpu.transfer_statistics()
    >>> y = jax.device_get(x)
    >>> (onexpu.transfer_statistics() - before).bytes("device_to_host")
    1024
    """
    return _read() - _baseline


def reset_statistics() -> None:
    """Resets the counts of `transfer_statistics` and `placement_report`.

    Examples
    --------
    >>> import onexpu
    >>> onexpu.reset_statistics()
    >>> onexpu.transfer_statistics().total_bytes
    0
    """
    global _baseline
    _baseline = _read()
    placement_counters.reset()


def memory_info(device: int = 0) -> dict[str, int]:
    """Returns the state of a device's memory pool, in bytes.

    TensorFlow's ``tf.config.experimental.get_memory_info("XPU:0")`` returns the bytes in use and
    their peak.

    Parameters
    ----------
    device : int
        The device ordinal.

    Returns
    -------
    dict
        ``bytes_in_use``, ``peak_bytes_in_use``, ``bytes_limit``, ``pool_bytes``, …

    Raises
    ------
    IndexError
        If the device does not exist.

    See Also
    --------
    reset_memory_peaks : Resets the peak.

    Examples
    --------
    >>> import onexpu
    >>> onexpu.memory_info()["bytes_in_use"] >= 0
    True
    """
    from onexpu import _native

    return _native.memory_stats(device)


def reset_memory_peaks(device: int = 0) -> None:
    """Resets the peak of `memory_info`, its largest allocation and its number of allocations.

    The peak becomes the bytes in use. TensorFlow's
    ``tf.config.experimental.reset_memory_stats("XPU:0")`` does the same.

    Parameters
    ----------
    device : int
        The device ordinal.

    Raises
    ------
    IndexError
        If the device does not exist.

    Examples
    --------
    >>> import onexpu
    >>> onexpu.reset_memory_peaks()
    >>> info = onexpu.memory_info()
    >>> info["peak_bytes_in_use"] == info["bytes_in_use"]
    True
    """
    from onexpu import _native

    _native.reset_memory_peaks(device)
