"""Traces of other profilers that were given to the project, and reference figures for them. They are not in the
repository: they lie in the folder shared beside it, or in the folder that WALLSHIM_GIVEN names."""
import os
import sys

PROJECT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDER = os.environ.get("WALLSHIM_GIVEN") or os.path.join(os.path.dirname(PROJECT), "shared")
TRACES = os.path.join(FOLDER, "traces")
REFERENCE = os.path.join(FOLDER, "reference")


def need(folder):
    """Ends the test as skipped where the folder is not there."""
    if not os.path.isdir(folder):
        print(f"skipped: no {folder}")
        sys.exit(77)
