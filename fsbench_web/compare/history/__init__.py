"""One configuration over kernels or dates."""
