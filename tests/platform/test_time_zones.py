"""A machine without time zones, as Ubuntu 22.04 with an added Python is, is told what it lacks."""

import os
import subprocess
import sys

from tests.services.image import ROOT

ASK = """
from django.core.exceptions import ImproperlyConfigured
from fsbench_web.platform import env
try:
    env.time_zone("FSBENCH_TIME_ZONE", "UTC")
except ImproperlyConfigured as error:
    print(error)
"""


def test_a_machine_without_time_zones_is_told_to_install_them() -> None:
    """Python looks nowhere for them, as it finds nothing where no package brought them."""
    without = {**os.environ, "PYTHONTZPATH": ""}
    done = subprocess.run(
        [sys.executable, "-c", ASK], cwd=ROOT, env=without, capture_output=True, text=True
    )
    assert "apt install tzdata" in done.stdout, done.stderr
    assert "FSBENCH_TIME_ZONE" not in done.stdout
