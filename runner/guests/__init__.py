"""Guests: their kernels, and the executor that boots one for each run in QEMU."""
