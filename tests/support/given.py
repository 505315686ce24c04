"""Traces of other profilers that were given to the project, and reference figures for them. They are not in the
repository, but in the folder "shared" beside it, or in the folder WALLSHIM_GIVEN."""
import os
import sys

PROJECT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDER = os.environ.get("WALLSHIM_GIVEN") or os.path.join(os.path.dirname(PROJECT), "shared")
TRACES = os.path.join(FOLDER, "traces")
REFERENCE = os.path.join(FOLDER, "reference")


def need(folder):
    """If the folder does not exist, ends the test as skipped (status 77)."""
    if not os.path.isdir(folder):
        print(f"skipped: no {folder}")
        sys.exit(77)
