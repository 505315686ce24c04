"""The given traces of other profilers and what is known of them. They are no part of the project: they lie in ../shared
beside it, or where WALLSHIM_GIVEN says."""
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
