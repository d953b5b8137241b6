"""DiskSpd, and CrystalDiskMark, which runs it."""
