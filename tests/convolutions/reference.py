"""Convolutions and both of their gradients in float64, as plain sums over the kernel's elements."""

from __future__ import annotations

import itertools

import numpy as np

from tests.convolutions.forms import Form


def _taps(form: Form):
    """For each element of the kernel: its index, and what it reads of the padded source."""
    for tap in itertools.product(*map(range, form.kernel)):
        yield (
            tap,
            tuple(
                slice(t * d, t * d + (n - 1) * s + 1, s)
                for t, d, n, s in zip(
                    tap, form.kernel_dilation, form.result, form.strides, strict=True
                )
            ),
        )


def _interior(form: Form) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
    """Which elements of the source lie in the padded one, and where."""
    kept, offsets = [], []
    for n, b, (low, _), extent in zip(
        form.size, form.base_dilation, form.padding, form.padded, strict=True
    ):
        first = max(0, -(low // b)) if low < 0 else 0
        last = min(n - 1, (extent - 1 - low) // b)
        kept.append(slice(first, max(first, last + 1)))
        offsets.append(slice(first * b + low, max(first * b + low, last * b + low + 1), b))
    return tuple(kept), tuple(offsets)


def reference(
    form: Form, x: np.ndarray, w: np.ndarray, cotangent: np.ndarray
) -> tuple[np.ndarray, ...]:
    """The result and both gradients in float64.

    Parameters
    ----------
    x : array of [batch, groups, channels, ...]
    w : array of [groups, features, channels, ...]
    cotangent : array of [batch, groups, features, ...], the result's shape
    """
    kept, offsets = _interior(form)
    everything = (slice(None),) * 3
    padded = np.zeros((*x.shape[:3], *form.padded))
    padded[everything + offsets] = x[everything + kept]
    y, dw = np.zeros(cotangent.shape), np.zeros(w.shape)
    d_padded = np.zeros_like(padded)
    at = "abc"[: form.rank]
    for tap, window in _taps(form):
        seen = padded[everything + window]
        kernel = w[everything + tap]
        y += np.einsum(f"ngi{at},goi->ngo{at}", seen, kernel)
        dw[everything + tap] = np.einsum(f"ngi{at},ngo{at}->goi", seen, cotangent)
        d_padded[everything + window] += np.einsum(f"ngo{at},goi->ngi{at}", cotangent, kernel)
    dx = np.zeros(x.shape)
    dx[everything + kept] = d_padded[everything + offsets]
    return y, dx, dw
