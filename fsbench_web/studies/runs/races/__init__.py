"""Races: jobs that look for the best of their configurations, block after block."""

from fsbench_web.studies.runs.races.next_runs import go_on as go_on
from fsbench_web.studies.runs.races.report import report_of as report_of
from fsbench_web.studies.runs.races.standing import standing as standing
