"""Writes the Chebyshev series of special functions that TensorFlow has and XLA has not.

Each series stands for a smooth part of a function on the interval that its variable t maps to
[-1, 1]; `tf_plugin/translations/elementwise/special_functions.cc` puts the parts together.
Coefficients come from values of 30 digits by interpolation at Chebyshev's points (NIST Digital
Library of Mathematical Functions, 3.11(ii)); the sections below are its, too.

Needs mpmath, which nothing else here does:

    pip install mpmath
    cd tf_plugin/translations/elementwise
    python ../../../tools/special_function_tables.py > special_function_tables.h
"""

from __future__ import annotations

import struct
from collections.abc import Callable

import mpmath as mp

Function = Callable[[mp.mpf], mp.mpf]

_POINTS = 96
# What a term may be, of the greatest one, and be left out: the rounding of a double.
_NEGLIGIBLE = mp.mpf(2) ** -54


def _series(function: Function) -> list[mp.mpf]:
    """Coefficients of a function of t in [-1, 1], the first one whole, without the last negligible
    ones.
    """
    angles = [mp.pi * (j + mp.mpf(0.5)) / _POINTS for j in range(_POINTS)]
    values = [function(mp.cos(angle)) for angle in angles]
    series = [
        2 * mp.fsum(v * mp.cos(k * a) for v, a in zip(values, angles, strict=True)) / _POINTS
        for k in range(_POINTS)
    ]
    series[0] /= 2
    greatest = max(abs(c) for c in series)
    last = max(k for k, c in enumerate(series) if abs(c) > _NEGLIGIBLE * greatest)
    if last > _POINTS * 3 // 4:
        raise ValueError("the function is not smooth enough for this number of points")
    return series[: last + 1]


def _hankel(order: int, is_q: bool) -> Function:
    """P, or x Q, of Hankel's form beyond 8 (10.17(i)), by t = 2 (8 / x)^2 - 1."""

    def value(t: mp.mpf) -> mp.mpf:
        x = 8 / mp.sqrt((t + 1) / 2)
        angle = x - (mp.mpf(order) / 2 + mp.mpf(1) / 4) * mp.pi
        j, y = mp.besselj(order, x), mp.bessely(order, x)
        scale = mp.sqrt(mp.pi * x / 2)
        if is_q:
            return x * scale * (y * mp.cos(angle) - j * mp.sin(angle))
        return scale * (j * mp.cos(angle) + y * mp.sin(angle))

    return value


def _without_zeros(order: int) -> Function:
    """J up to 8 over x^order and (x^2 - z^2) of its two zeros there, by t = x^2 / 32 - 1."""
    zeros = [mp.besseljzero(order, m) for m in (1, 2)]

    def value(t: mp.mpf) -> mp.mpf:
        x = mp.sqrt(32 * (t + 1))
        return mp.besselj(order, x) / x**order / ((x * x - zeros[0] ** 2) * (x * x - zeros[1] ** 2))

    return value


def _y_smooth(order: int) -> Function:
    """Y up to 8 without what its logarithm and its pole are in (10.8), over x^order,
    by t = x^2 / 32 - 1.
    """

    def value(t: mp.mpf) -> mp.mpf:
        x = mp.sqrt(32 * (t + 1))
        rest = mp.bessely(order, x) - 2 / mp.pi * mp.log(x) * mp.besselj(order, x)
        return (rest + (2 / (mp.pi * x) if order else 0)) / x**order

    return value


def _k_smooth(order: int) -> Function:
    """K up to 2 without its logarithm and pole (10.31), over x^order, by t = x^2 / 2 - 1."""

    def value(t: mp.mpf) -> mp.mpf:
        x = mp.sqrt(2 * (t + 1))
        sign = -1 if order else 1
        rest = mp.besselk(order, x) + sign * mp.log(x / 2) * mp.besseli(order, x)
        return (rest - (1 / x if order else 0)) / x**order

    return value


def _k_far(order: int) -> Function:
    """sqrt(x) e^x K beyond 2, by t = 4 / x - 1."""

    def value(t: mp.mpf) -> mp.mpf:
        x = 4 / (t + 1)
        return mp.sqrt(x) * mp.exp(x) * mp.besselk(order, x)

    return value


def _dawson(x: mp.mpf) -> mp.mpf:
    return mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x)


def _ei_near(t: mp.mpf) -> mp.mpf:
    """(Ei(x) - gamma - ln x) / x up to 6 (6.6), by t = x / 3 - 1."""
    x = 3 * (t + 1)
    return mp.nsum(lambda n: x ** (n - 1) / (n * mp.factorial(n)), [1, mp.inf])


def _ei_far(t: mp.mpf) -> mp.mpf:
    """The product x e^-x Ei(x) beyond 6, by t = 12 / x - 1."""
    x = 12 / (t + 1)
    return x * mp.exp(-x) * mp.ei(x)


def _spence(t: mp.mpf) -> mp.mpf:
    """The dilogarithm Li2(1 - x) over 1 - x (25.12(i)), from 0.5 to 1.5, by t = 2 (x - 1)."""
    y = -t / 2
    return mp.polylog(2, y).real / y if y else mp.mpf(1)


def _fresnel(is_sine: bool) -> Function:
    """C(x) / x or S(x) / x^3 up to 1.6 (7.6(ii)), by t = 2 (x / 1.6)^4 - 1."""

    def value(t: mp.mpf) -> mp.mpf:
        x = mp.mpf("1.6") * ((t + 1) / 2) ** mp.mpf(0.25)
        return mp.fresnels(x) / x**3 if is_sine else mp.fresnelc(x) / x

    return value


def _fresnel_auxiliary(is_g: bool) -> Function:
    """The product pi x f(x) or pi^2 x^3 g(x) beyond 1.6 (7.5), by t = 2 (1.6 / x)^4 - 1."""

    def value(t: mp.mpf) -> mp.mpf:
        x = mp.mpf("1.6") / ((t + 1) / 2) ** mp.mpf(0.25)
        angle = mp.pi * x * x / 2
        c, s = mp.fresnelc(x) - mp.mpf(0.5), mp.fresnels(x) - mp.mpf(0.5)
        if is_g:
            return mp.pi**2 * x**3 * (-c * mp.cos(angle) - s * mp.sin(angle))
        return mp.pi * x * (c * mp.sin(angle) - s * mp.cos(angle))

    return value


def _dawson_near(t: mp.mpf) -> mp.mpf:
    """Dawson's integral over x up to 4 (7.2(ii)), by t = x^2 / 8 - 1."""
    x = mp.sqrt(8 * (t + 1))
    return _dawson(x) / x


def _dawson_far(t: mp.mpf) -> mp.mpf:
    """2 x times Dawson's integral beyond 4, by t = 2 (4 / x)^2 - 1."""
    x = 4 / mp.sqrt((t + 1) / 2)
    return 2 * x * _dawson(x)


def _all_series() -> dict[str, Function]:
    series: dict[str, Function] = {}
    for order in (0, 1):
        series[f"J{order}Near"] = _without_zeros(order)
        series[f"P{order}"] = _hankel(order, is_q=False)
        series[f"Q{order}"] = _hankel(order, is_q=True)
        series[f"Y{order}Near"] = _y_smooth(order)
        series[f"K{order}Near"] = _k_smooth(order)
        series[f"K{order}Far"] = _k_far(order)
    return series | {
        "DawsonNear": _dawson_near,
        "DawsonFar": _dawson_far,
        "EiNear": _ei_near,
        "EiFar": _ei_far,
        "Spence": _spence,
        "FresnelCosineNear": _fresnel(is_sine=False),
        "FresnelSineNear": _fresnel(is_sine=True),
        "FresnelF": _fresnel_auxiliary(is_g=False),
        "FresnelG": _fresnel_auxiliary(is_g=True),
    }


def _number(value: mp.mpf) -> str:
    return repr(float(value))


def _rows(values: list[str], width: int = 4) -> str:
    lines = [", ".join(values[i : i + width]) for i in range(0, len(values), width)]
    return "{\n    " + ",\n    ".join(lines) + "}"


def main() -> None:
    """Writes the header to the standard output."""
    mp.mp.dps = 40
    print(
        "// Generated by tools/special_function_tables.py, which says what each series stands for."
    )
    print("#ifndef TF_PLUGIN_TRANSLATIONS_SPECIAL_FUNCTION_TABLES_H_")
    print("#define TF_PLUGIN_TRANSLATIONS_SPECIAL_FUNCTION_TABLES_H_\n")
    print("namespace onexpu::tf_plugin {\n")
    for name, function in _all_series().items():
        coefficients = [_number(c) for c in _series(function)]
        print(f"inline constexpr double k{name}[] = {_rows(coefficients)};\n")
    print("// The first two zeros of J0 and of J1 beyond 0, each as a float and what is missing.")
    for order in (0, 1):
        pairs = []
        for m in (1, 2):
            zero = mp.besseljzero(order, m)
            high = mp.mpf(struct.unpack("f", struct.pack("f", float(zero)))[0])
            pairs.append(f"{{{_number(high)}, {_number(zero - high)}}}")
        print(f"inline constexpr double kJ{order}Zeros[2][2] = {{{', '.join(pairs)}}};")
    print("\n}  // namespace onexpu::tf_plugin\n")
    print("#endif  // TF_PLUGIN_TRANSLATIONS_SPECIAL_FUNCTION_TABLES_H_")


if __name__ == "__main__":
    main()
