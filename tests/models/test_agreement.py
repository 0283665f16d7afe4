"""Every model gives on xpu what it gives on JAX's CPU backend: outputs, gradients, new weights."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest
from models import Size, resnet

from tests.models.agreement import TOLERANCES, errors
from tests.models.compiled import PROGRAMS, compiled


def _run(name: str, device: jax.Device) -> Any:
    result = compiled(name, device)(*jax.device_put(PROGRAMS[name].arguments(), device))
    assert all(leaf.devices() == {device} for leaf in jax.tree.leaves(result))
    return result


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_model_agrees_with_the_cpu_backend(xpu, cpu, name) -> None:
    found = errors(_run(name, xpu), _run(name, cpu))
    tolerance = TOLERANCES[PROGRAMS[name].precision]
    assert {path: error for path, error in found.items() if error > tolerance} == {}


def test_no_activation_of_the_small_resnet_is_near_the_kink(cpu, monkeypatch) -> None:
    """Else its gradients could not be compared: see its configuration."""
    distances = []
    relu = jax.nn.relu
    monkeypatch.setattr(
        jax.nn, "relu", lambda x: (distances.append(jnp.abs(x).min()), relu(x))[1]
    )

    def nearest(parameters, statistics, images):
        resnet.forward(parameters, statistics, images, decay=resnet.CONFIGS[Size.SMALL].norm_decay)
        return jnp.stack(distances).min()

    arguments = PROGRAMS["resnet50_inference"].arguments()
    # Activations are around 1, and their rounding errors around 1e-6.
    assert jax.jit(nearest)(*jax.device_put(arguments, cpu)) > 1e-5
