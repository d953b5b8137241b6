"""Races: jobs that look for the best of their configurations, block after block."""

from fsbench_web.studies.runs.races.next_runs import continue_race as continue_race
from fsbench_web.studies.runs.races.report import report_of as report_of
from fsbench_web.studies.runs.races.standing import standing as standing
