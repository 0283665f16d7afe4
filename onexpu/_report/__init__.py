"""``python -m onexpu --report``: one text file for bug reports, with a self-test of every route.

The parent process starts no device. Whatever does (the doctor's sections, each framework's checks)
runs in child processes with time limits, so that a crash or a hang becomes a line of the report.
"""
