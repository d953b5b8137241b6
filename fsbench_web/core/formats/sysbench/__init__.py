"""sysbench: its file test, and its others."""
