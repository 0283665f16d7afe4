"""Models in plain JAX, each in a file of its own: what tests compare and benchmarks time.

A model enters here, once; tests and benchmarks take it from `programs`.
"""

from __future__ import annotations

from models import (
    flow,
    gaussian_process,
    gpt,
    hamiltonian_monte_carlo,
    lstm,
    navier_stokes,
    resnet,
    t5,
    unet,
    vit,
)
from models.program import Program, Size

__all__ = ["Program", "Size", "programs"]

_MODELS = (
    gpt,
    vit,
    resnet,
    unet,
    t5,
    lstm,
    flow,
    gaussian_process,
    navier_stokes,
    hamiltonian_monte_carlo,
)


def programs(size: Size) -> dict[str, Program]:
    """Returns every model's programs by name. Their arguments are not made before they are asked
    for.

    Examples
    --------
    >>> import jax, models
    >>> program = models.programs(models.Size.SMALL)["flow_sampling"]
    >>> x, log_density = jax.jit(program.function)(*program.arguments())
    >>> x.shape, log_density.shape
    ((64, 4), (64,))
    """
    found: dict[str, Program] = {}
    for model in _MODELS:
        for program in model.programs(model.CONFIGS[size]):
            if program.name in found:
                raise ValueError(f"two programs are called {program.name!r}")
            found[program.name] = program
    return found
