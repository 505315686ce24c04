"""What scripts ask the recorder of a build."""
import os
import subprocess


def understands(build, option, word=None):
    """Is there a switch of this name, and, where a word is given, does it take that?"""
    text = subprocess.run([os.path.join(build, "tools/wallshim"), "record", "--help"], stdout=subprocess.PIPE, text=True,
                          check=False).stdout.partition(f"--{option} ")[2].partition(" --")[0]
    return bool(text) and (word is None or word in text.replace("|", " ").split())
