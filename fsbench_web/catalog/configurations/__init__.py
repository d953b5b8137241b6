"""File systems with their options: closed lists, labels, commands. Pure but for records."""
