"""Kernels called with arrays of dpnp or dpctl."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from onexpu._bounded_cache import BoundedCache
from onexpu._interop.dpctl import (
    as_dpnp,
    dpnp_module,
    queue_address,
    usm_ndarray,
    usm_ndarray_of,
    view,
)
from onexpu._launch.scalars import ScalarOperands, identity, is_number
from onexpu._launch.shapes import Operand

if TYPE_CHECKING:
    from onexpu._launch.launch import Launch
    from onexpu._launch.protocols import KernelDefinition

# Of one kernel.
_KEPT_LAUNCHES = 256


def _as_type(x: Any, dtype: str) -> Any:
    array = usm_ndarray_of(x)
    return dpnp_module().tensor.astype(array, dtype, copy=False)


class DpctlCalls:
    """Calls of one kernel with arrays of dpnp, of its class or of usm_ndarray.

    The results are of the first input's class and queue. Work that the inputs' queues are given
    later comes after the kernel, so inputs may be written to.
    """

    def __init__(self, definition: KernelDefinition) -> None:
        self._definition = definition
        self._launches: BoundedCache[Launch] = BoundedCache(_KEPT_LAUNCHES)  # by signature

    def __call__(self, inputs: Sequence[Any], attributes: Mapping[str, Any]) -> Sequence[Any]:
        """Calls the kernel; see `SyclKernel.__call__`."""
        from onexpu import _native

        dpnp = dpnp_module()
        types = self._definition.scalar_attributes
        single = tuple(name for name in types if not is_number(attributes[name]))
        numbers = {name: value for name, value in attributes.items() if name not in single}
        named = [*zip(self._definition.inputs, inputs, strict=True)]
        named += [(name, attributes[name]) for name in single]
        self._check(named, (dpnp.ndarray, dpnp.tensor.usm_ndarray))
        arrays = [*inputs, *(_as_type(attributes[name], types[name]) for name in single)]
        queues: set[Any] = set()
        operands = []
        for x in arrays:
            operands.append(view(x, is_ordered=x.sycl_queue not in queues))
            queues.add(x.sycl_queue)
        launch = self._launch(operands[: len(inputs)], numbers, single)
        device = operands[0].device
        results = _native.launch(launch.target, operands, launch.results, launch.attributes, device)
        for queue in queues:
            results[0].order_queue(queue_address(queue))

        def share(result: Any) -> Any:
            return usm_ndarray(result, inputs[0].sycl_queue, True)

        arrays = launch.counted_outputs(
            list(map(share, results[: launch.num_outputs])),
            lambda i: int(dpnp.tensor.asnumpy(share(results[i])).reshape(())),
        )
        return list(map(as_dpnp, arrays)) if isinstance(inputs[0], dpnp.ndarray) else arrays

    def _check(self, named: Sequence[tuple[str, Any]], kinds: tuple[type, ...]) -> None:
        for name, x in named:
            if not isinstance(x, kinds):
                raise TypeError(
                    f"onexpu: kernel '{self._definition.name}' is called with arrays of dpnp, but "
                    f"'{name}' is {type(x).__module__}.{type(x).__name__}; onexpu.to_dpnp hands "
                    "arrays of JAX and TensorFlow over"
                )

    def _launch(
        self, operands: Sequence[Any], numbers: Mapping[str, Any], single: tuple[str, ...]
    ) -> Launch:
        """Works a call out, once for all numbers: those are arguments of the launch."""
        scalars = self._definition.scalar_attributes
        constants = {name: value for name, value in numbers.items() if name not in scalars}
        key = (tuple((x.shape, x.dtype) for x in operands), identity(constants), single)

        def make() -> Launch:
            described = [
                Operand(name, x.shape, x.dtype)
                for name, x in zip(self._definition.inputs, operands, strict=True)
            ]
            return self._definition.launch(described, numbers, ScalarOperands((), single))

        return self._definition.with_numbers(self._launches.get(key, make), numbers)
