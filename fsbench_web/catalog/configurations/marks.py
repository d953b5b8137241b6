"""How fsbench knows its own work from a stranger's data before it erases a LUN. Pure: no Django.

Every file system and journal made here carries this label (runner.host.checks). The log of XFS has
no label, only the UUID of its file system: one whose log is on another device gets this UUID.
"""

OWN_LABEL = "fsbench"
# "fsbench" and "extrlg" in ASCII. One UUID for all: two file systems that have it are mounted side
# by side with nouuid (xfs(5)).
OWN_LOG_UUID = "66736265-6e63-6800-8000-657874726c67"
