"""What a setting of a comparison can be, and how its form says it: slug -> words."""

from fsbench_web.compare.selection import properties
from fsbench_web.core.conversion import BINARY, DECIMAL, PRINTED
from fsbench_web.core.stats.verdicts import FREENIX

CONTENDERS = properties.contenders()
CELLS = {
    "": "All data points",
    "sound": "Sound data points: those with a quality flag left out",
    "cached": "Data points of files that fit into the cache",
    "uncached": "Data points of files that do not fit into the cache",
}
EMULATED = {
    "": "Left out, unless there is nothing else",
    "out": "Left out",
    "with": "Shown with the others",
    "only": "Shown alone",
}
PAPERS = {
    "no": "Left out",
    "yes": "Shown with measurements",
    "only": "Shown alone",
}
UNITS = {
    "": "As printed, or binary",
    PRINTED: "As printed alone",
    BINARY: "Binary: MiB/s",
    DECIMAL: "Decimal: MB/s",
}
SORTS = {
    "": "Worst first",
    "best": "Best first",
    "score": "Score, lowest first",
    "-score": "Score, highest first",
    "contender": "Contender, A to Z",
    "-contender": "Contender, Z to A",
    "change": "Change against the baseline, lowest first",
    "-change": "Change against the baseline, highest first",
    "share": "Of the LUN, least first",
    "-share": "Of the LUN, most first",
    "runs": "Runs, fewest first",
    "-runs": "Runs, most first",
    "cells": "Data points, fewest first",
    "-cells": "Data points, most first",
    "interval": "Interval, narrowest first",
    "-interval": "Interval, widest first",
    "configuration": "Configuration, A to Z",
    "-configuration": "Configuration, Z to A",
    "workload": "Workload, A to Z",
    "-workload": "Workload, Z to A",
    "hardware": "Hardware, A to Z",
    "-hardware": "Hardware, Z to A",
    "lun": "LUN, A to Z",
    "-lun": "LUN, Z to A",
    "kernel": "Kernel, lowest first",
    "-kernel": "Kernel, highest first",
    "study": "Study, A to Z",
    "-study": "Study, Z to A",
}
RULES = {
    "": "Paired where runs share blocks, else unpaired",
    FREENIX: "FREENIX 2002: intervals apart, means the margin apart",
}
ANSWERS = {"": "Either way", "yes": "Yes", "no": "No"}
