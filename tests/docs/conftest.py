"""Makes the tree's tools importable."""

from __future__ import annotations

import pathlib
import sys

# At the end: the tree's onexpu/ must not hide the installed package.
sys.path.append(str(pathlib.Path(__file__).resolve().parents[2]))
