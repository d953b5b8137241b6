"""Measurements of versions that had a row for each: they are moved whole, or not at all."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.apps import apps as today
from django.db import connection

from fsbench_web.studies.models import MeasurementBlock, Run
from tests.deploy.site import ROOT, Site

moving = import_module("fsbench_web.studies.migrations.0019_move_measurements")
dropping = import_module("fsbench_web.studies.migrations.0020_drop_measurement_rows")
