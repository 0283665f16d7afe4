"""Runs one case alone: `python -m tests.sizes.one "gradient of one row" float32 7 13`.

Prints `ok` or the differences, and with `--hlo` the compiled program. The arguments are those that
a failure of test_sizes.py prints.
"""

from __future__ import annotations

import argparse
import os
import sys


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("family")
    parser.add_argument("dtype")
    parser.add_argument("m", type=int)
    parser.add_argument("n", type=int)
    parser.add_argument("--platform", default="xpu")
    parser.add_argument("--hlo", action="store_true")
    options = parser.parse_args()
    os.environ.setdefault(
        "JAX_PLATFORMS", "cpu" if options.platform == "cpu" else f"{options.platform},cpu"
    )
    import jax

    jax.config.update("jax_enable_x64", True)
    from tests.sizes.families import FAMILIES
    from tests.sizes.packing import compiled, faults, results_of

    case = FAMILIES[options.family].case(options.m, options.n, options.dtype)
    device = jax.devices(options.platform)[0]
    if options.hlo:
        print(compiled([case], device).as_text())
    found = list(faults(case, results_of([case], device)[0]))
    print("\n".join(found) or "ok")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
