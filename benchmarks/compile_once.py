#!/usr/bin/env python3
"""Compiles one model in a process of its own and prints how many seconds that took.

Usage: compile_once.py PLATFORM MODEL CACHE

From the lowered program to its first results: XLA's passes, code generation, the device's compiler,
the load, one run. Tracing, JAX's start, and the arguments' way to the device are not in it. CACHE
is a directory that JAX's persistent compilation cache and onexpu's kernel cache use: an empty one
makes a cold start.
"""

from __future__ import annotations

import os
import pathlib
import sys
import time

# Before the import of JAX.
os.environ["JAX_PLATFORMS"] = sys.argv[1]
os.environ["ONEXPU_CACHE_DIR"] = str(pathlib.Path(sys.argv[3]) / "onexpu")
sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))

import jax

import models

_, name, cache = sys.argv[1:]

jax.config.update("jax_compilation_cache_dir", str(pathlib.Path(cache) / "jax"))
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)

program = models.programs(models.Size.MEDIUM)[name]
arguments = jax.device_put(program.arguments(), jax.devices()[0])
jax.block_until_ready(arguments)
jax.block_until_ready(jax.jit(lambda x: x + 1)(1.0))  # starts what a process starts once

lowered = jax.jit(program.function).lower(*arguments)
begin = time.perf_counter()
jax.block_until_ready(lowered.compile()(*arguments))
print(time.perf_counter() - begin)
