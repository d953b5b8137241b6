"""What IOR says of one repetition of an operation, in its JSON and in its CSV."""

REPETITION = {
    "bwMiB": ("bw", "MiB/s"),
    "iops": ("iops", "ops/s"),
    "latency": ("latency", "s"),
    "openTime": ("open_time", "s"),
    "wrRdTime": ("access_time", "s"),
    "closeTime": ("close_time", "s"),
    "totalTime": ("total_time", "s"),
}
"""Key of the JSON -> what the test's name ends with, and the unit. Source: ``ior-output.c``."""

COLUMNS = {
    "bw(MiB/s)": "bwMiB",
    "IOPS": "iops",
    "Latency": "latency",
    "open(s)": "openTime",
    "wr/rd(s)": "wrRdTime",
    "close(s)": "closeTime",
    "total(s)": "totalTime",
}
"""Column of the CSV -> key of the JSON."""
