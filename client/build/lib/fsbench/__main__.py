"""``python -m fsbench``."""

import sys

from fsbench.cli import main

sys.exit(main())
