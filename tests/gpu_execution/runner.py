"""Runs the steps of a plan (`plan.py`) on an NVIDIA GPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.gpu_execution.cuda import Device, Module

# The size of a guard zone. A kernel that writes there is out of bounds.
_GUARD_BYTES = 256
_GUARD, _UNWRITTEN = 0xA5, 0xFF  # as floats, the latter is NaN


class Fault(Exception):
    """A kernel wrote out of bounds."""


class Runner:
    """A program on the device: its memory and its kernels.

    Parameters
    ----------
    device : Device
        Where it runs.
    plan : dict
        See `plan.py`.
    module : Module
        Its kernels.
    parameters : list of bytes
        Its arguments, in their memory layouts.
    constants : dict of str to bytes
        Contents of the allocations that hold constants.
    is_exact : bool
        Each allocation is a CUDA allocation of exactly its size, so that compute-sanitizer reports
        reads and writes beyond it. Otherwise guard zones detect writes.
    """

    def __init__(
        self,
        device: Device,
        plan: dict[str, Any],
        module: Module,
        parameters: Sequence[bytes],
        constants: dict[str, bytes],
        *,
        is_exact: bool = False,
    ) -> None:
        self._device, self._plan, self._module = device, plan, module
        self._parameters, self._constants = parameters, constants
        self.launches = 0
        self._sizes = [size for size, _ in plan["allocations"]]
        self._guard = 0 if is_exact else _GUARD_BYTES
        if is_exact:
            self._memory = [device.allocate(max(size, 1)) for size in self._sizes]
        else:
            # One after the other in a single allocation, with a guard around each.
            padded = [-(-size // _GUARD_BYTES) * _GUARD_BYTES for size in self._sizes]
            begin = device.allocate(sum(padded) + _GUARD_BYTES * (len(padded) + 1))
            self._memory = [
                begin + _GUARD_BYTES * (i + 1) + sum(padded[:i]) for i in range(len(padded))
            ]

    def run(self) -> list[bytes]:
        """Runs the program once and returns its results. Raises Fault, CudaError."""
        self._prepare()
        self._run(self._plan["steps"])
        self._device.synchronize()
        self._check_guards()
        return [
            self._device.download(self._address([allocation, offset]), size)
            for allocation, offset, size in self._plan["results"]
        ]

    def free(self) -> None:
        """Frees the memory and the machine code."""
        for address in self._memory if self._guard == 0 else self._memory[:1]:
            self._device.free(address - self._guard)
        self._module.unload()

    def _address(self, operand: Sequence[int]) -> int:
        allocation, offset = operand
        return self._memory[allocation] + offset

    def _prepare(self) -> None:
        for i, (size, content) in enumerate(self._plan["allocations"]):
            address = self._memory[i]
            for begin, bytes_ in self._guards(i):
                self._device.fill(begin, _GUARD, bytes_)
            self._device.fill(address, 0 if content == "zeros" else _UNWRITTEN, size)
            if isinstance(content, int):
                self._device.upload(address, self._parameters[content])
            elif content in self._constants:
                self._device.upload(address, self._constants[content])

    def _guards(self, allocation: int) -> list[tuple[int, int]]:
        """Returns address and size of the guard zones before and after an allocation."""
        if self._guard == 0:
            return []
        begin, size = self._memory[allocation], self._sizes[allocation]
        after = -(-size // _GUARD_BYTES) * _GUARD_BYTES + _GUARD_BYTES - size
        return [(begin - _GUARD_BYTES, _GUARD_BYTES), (begin + size, after)]

    def _check_guards(self) -> None:
        for i in range(len(self._sizes)):
            for (begin, size), where in zip(self._guards(i), ("before", "after"), strict=False):
                data = self._device.download(begin, size)
                if data.count(_GUARD) != size:
                    raise Fault(f"a kernel wrote {where} allocation {i}")

    def _run(self, steps: list[Any]) -> None:
        for kind, *step in steps:
            getattr(self, f"_{kind}")(*step)

    def _kernel(
        self, name: str, grid: list[int], block: list[int], operands: list[list[int]]
    ) -> None:
        if 0 in grid:
            return
        self._module.launch(name, grid, block, [self._address(one) for one in operands])
        self.launches += 1

    def _copy(self, source: list[int], destination: list[int], size: int) -> None:
        self._device.copy(self._address(source), self._address(destination), size)

    def _while(
        self, trip_count: int, predicate: list[int] | None, condition: list[Any], body: list[Any]
    ) -> None:
        if predicate is None or trip_count >= 0:
            for _ in range(trip_count):
                self._run(body)
            return
        self._run(condition)
        while self._device.download(self._address(predicate), 1)[0]:
            self._run(body)
            self._run(condition)

    def _conditional(self, selector: list[int], is_pred: bool, branches: list[list[Any]]) -> None:
        data = self._device.download(self._address(selector), 1 if is_pred else 4)
        if is_pred:
            chosen = 0 if data[0] else 1
        else:
            chosen = int.from_bytes(data, "little", signed=True)
            if not 0 <= chosen < len(branches):
                chosen = len(branches) - 1
        self._run(branches[chosen])

    def _call(self, steps: list[Any]) -> None:
        self._run(steps)
