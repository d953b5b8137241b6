"""May this disk be erased now? Everything that decides it: standard library only (README.md)."""
