"""``python -m onexpu`` prints the doctor's report."""

from __future__ import annotations

import sys

import rich.console

from onexpu import doctor

report = doctor()
rich.console.Console().print(report)
sys.exit(0 if report.ok else 1)
