"""The small programs, compiled once a session for each device."""

from __future__ import annotations

import functools

import jax

import models

PROGRAMS = models.programs(models.Size.SMALL)


@functools.cache
def compiled(name: str, device: jax.Device) -> jax.stages.Compiled:
    """Compiles a program with its arguments donated."""
    return PROGRAMS[name].lower(device).compile()
