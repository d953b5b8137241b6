"""Applications on the measured file system: databases, version control, archives, mail, images."""
