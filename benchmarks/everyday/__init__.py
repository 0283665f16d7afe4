"""Everyday programs: small, ordinary ones of many kinds, as users of both frameworks write them.

They look for kinds of programs that are slower on xpu than on the framework's CPU back end, so
they are many, and a call takes between 10 us and 200 ms. A program enters the file of its kind,
with a decorator; `run.py`, the tests and the table in docs/performance.md take it from `PROGRAMS`.
"""

from __future__ import annotations

from everyday import (
    jax_callbacks,
    jax_convolutions,
    jax_cumulative,
    jax_fft,
    jax_gradients,
    jax_linear_algebra,
    jax_loops,
    jax_physics,
    jax_random,
    jax_samplers,
    jax_sorting,
    jax_tiny,
    jax_updates,
    tf_eager,
    tf_images,
    tf_loops,
    tf_new_shapes,
    tf_recurrent,
    tf_samplers,
    tf_selection,
    tf_training,
)
from everyday.program import Mode, Program

__all__ = ["PROGRAMS", "Mode", "Program", "attributes"]

_FILES = (
    jax_loops,
    jax_updates,
    jax_cumulative,
    jax_sorting,
    jax_linear_algebra,
    jax_fft,
    jax_random,
    jax_samplers,
    jax_physics,
    jax_gradients,
    jax_tiny,
    jax_convolutions,
    jax_callbacks,
    tf_eager,
    tf_new_shapes,
    tf_loops,
    tf_recurrent,
    tf_images,
    tf_selection,
    tf_training,
    tf_samplers,
)


def _by_name() -> dict[str, Program]:
    found: dict[str, Program] = {}
    for file in _FILES:
        for program in file.KIND.programs:
            if program.name in found:
                raise ValueError(f"two everyday programs are called {program.name!r}")
            found[program.name] = program
    return found


PROGRAMS = _by_name()


def attributes(name: str) -> dict[str, str]:
    """Returns what the results say of an everyday program; nothing for another case."""
    if name not in PROGRAMS:
        return {}
    program = PROGRAMS[name]
    return {
        "name": program.title,
        "kind": program.kind,
        "mode": program.mode.value,
        "competitor": program.mode.competitor,
        "cause": program.cause,
        "tried": program.tried,
    }
