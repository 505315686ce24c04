"""Answers questions of scripts about a build's recorder (`wallshim record`)."""
import os
import subprocess


def understands(build, option, word=None):
    """Has `wallshim record` the switch --`option`? If `word` is given: does the switch also accept that value?"""
    text = subprocess.run([os.path.join(build, "tools/wallshim"), "record", "--help"], stdout=subprocess.PIPE, text=True,
                          check=False).stdout.partition(f"--{option} ")[2].partition(" --")[0]
    return bool(text) and (word is None or word in text.replace("|", " ").split())
