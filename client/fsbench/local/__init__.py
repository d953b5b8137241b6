"""Results on this machine: read, compared and shown without a server."""

import os

# The BLAS of NumPy starts a thread for each processor when it is loaded. Nothing here needs it.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
