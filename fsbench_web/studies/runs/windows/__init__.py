"""When the runs of a job may begin: not before a time, and only what would end before another."""
