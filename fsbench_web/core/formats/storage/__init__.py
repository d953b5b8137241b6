"""Benchmarks of large storage systems: elbencho, Vdbench, IOR, mdtest and IO500."""
