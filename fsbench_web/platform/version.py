"""The version of fsbench, as pyproject.toml has it."""

VERSION = "0.11.0"
