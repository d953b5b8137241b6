"""The site: what it keeps, shows and answers."""

import os

# The BLAS of NumPy and SciPy starts a thread for each processor when it is loaded, and these spin
# for a moment, beside whatever is measured: a third of the time that loading NumPy takes. Nothing
# here multiplies matrices. Commands of runs have an environment of their own.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
