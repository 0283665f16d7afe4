"""A part of the sweep of convolutions, and whether its comparison finds what is wrong."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.convolutions import forms, programs, sweep
from tests.convolutions.reference import reference

_KNOWN = [-1 - i for i in range(len(forms.KNOWN))]
_FORMS = 32


# The instruction sets for which oneDNN picks different implementations; ALL is the processor's own.
@pytest.mark.parametrize("isa", ["ALL", "AVX2", "AVX512_CORE"])
def test_forms_of_known_faults_and_drawn_forms_are_right(isa) -> None:
    outcome = sweep.sweep([*_KNOWN, *range(_FORMS)], isa)
    assert not outcome.findings, outcome.findings
    assert outcome.forms == len(_KNOWN) + _FORMS
    assert outcome.implementations  # oneDNN computed some


def test_damage_is_found(xpu) -> None:
    seeds = list(range(16))
    found = programs.run_forms(seeds, damage=True)
    results = sum(1 if forms.form_of(seed).dtype == "int8" else 3 for seed in seeds)
    assert len(found) == results


def test_a_process_that_ends_is_a_finding(monkeypatch) -> None:
    monkeypatch.setenv("ONEXPU_DEVICE", "nonsense")
    outcome = sweep.sweep([0, 1])
    assert [finding["seed"] for finding in outcome.findings] == [0, 1]


@pytest.mark.parametrize("seed", range(20))
def test_reference_is_a_plain_sum(seed) -> None:
    form = forms.draw_form(seed)
    operands = programs.operands_of(form, seed)
    x, w = operands["x"], operands["w"]
    y, dx, dw = reference(form, x, w, operands["cotangent"])
    numbers = np.random.default_rng(seed)
    for _ in range(8):
        at = tuple(int(numbers.integers(n)) for n in y.shape)
        total = 0.0
        for tap in np.ndindex(*form.kernel):
            offsets = [
                o * s + t * d - low
                for o, t, s, d, (low, _) in zip(
                    at[3:], tap, form.strides, form.kernel_dilation, form.padding, strict=True
                )
            ]
            source = [p // b for p, b in zip(offsets, form.base_dilation, strict=True)]
            is_hole = any(p % b for p, b in zip(offsets, form.base_dilation, strict=True))
            if not is_hole and all(0 <= i < n for i, n in zip(source, form.size, strict=True)):
                seen = x[(at[0], at[1], slice(None), *source)]
                total += float(np.dot(seen, w[(at[1], at[2], slice(None), *tap)]))
        assert y[at] == total
    # The gradients are those of the sum of products of the result and the cotangent.
    np.testing.assert_allclose(
        (dx * x).sum(), (y * operands["cotangent"]).sum(), rtol=1e-12, atol=1e-9
    )
    np.testing.assert_allclose(
        (dw * w).sum(), (y * operands["cotangent"]).sum(), rtol=1e-12, atol=1e-9
    )


# oneDNN multiplies bf16 channels in pairs. The last of an odd number must not be paired with the
# next pixel.
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("channels", [1, 3, 4, 20])
@pytest.mark.parametrize("stride", [1, 2])
def test_an_infinite_element_stays_in_its_windows(xpu, channels, groups, stride) -> None:
    numbers = np.random.default_rng(channels)
    x = numbers.standard_normal((2, 12, 12, groups * channels))
    x[0, 5, 5, 0] = np.inf
    w = 1 + numbers.random((3, 3, channels, groups * 8))

    def convolve(x, w):
        return jax.lax.conv_general_dilated(
            x,
            w,
            (stride, stride),
            "VALID",
            dimension_numbers=("NHWC", "HWIO", "NHWC"),
            feature_group_count=groups,
        )

    y = np.array(
        jax.jit(convolve)(*jax.device_put([x.astype(jnp.bfloat16), w.astype(jnp.bfloat16)], xpu))
    )
    seen = [i for i in range(0, 10, stride) if i <= 5 < i + 3]
    expected = np.zeros(y.shape, bool)
    expected[0, [[i // stride] for i in seen], [i // stride for i in seen], :8] = True
    np.testing.assert_array_equal(~np.isfinite(y.astype(np.float32)), expected)
