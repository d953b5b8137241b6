"""What a file system may lack and a workload cannot do without, in words for people. Pure."""

SYMBOLIC_LINKS = "symbolic links"
HARD_LINKS = "hard links"
PERMISSIONS = "permissions"
CASE = "names that differ in case alone"
COLONS = "colons in names"
ALL = (SYMBOLIC_LINKS, HARD_LINKS, PERMISSIONS, CASE, COLONS)
