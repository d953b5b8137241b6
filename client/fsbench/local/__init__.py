"""Results on this machine: read, compared and shown without a server."""

import os
from typing import Literal

# The BLAS of NumPy starts a thread for each processor when it is loaded. Nothing here needs it.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

By = Literal["folder", "configuration", "filesystem", "kernel", "hardware", "workload"]
"""What may be compared."""
