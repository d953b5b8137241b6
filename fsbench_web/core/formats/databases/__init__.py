"""Benchmarks of data bases: pgbench of PostgreSQL, db_bench of RocksDB and LevelDB."""
