"""docs/method.md says what the literature demands and what fsbench does: every line of that table
is held by tests that show it, and what it names (options, settings, limits) by the code itself.
"""

import re
from pathlib import Path

import pytest
from django.conf import settings

from fsbench_web.catalog.configurations.preparation import SPRANDOM_FROM, Preparation
from fsbench_web.core.scoring import busy, ceilings, steady_state
from fsbench_web.core.workloads.fio.steady import STEADY
from fsbench_web.core.workloads.registry import BUILTIN
from fsbench_web.studies.jobs.spec import JobSpec

ROOT = Path(settings.BASE_DIR)
METHOD = (ROOT / "docs/method.md").read_text()

SHOWN_BY = {
    "Say exactly what was run, on what, with which settings": (
        "runner/execution/test_preparation.py::test_mkfs_and_mount_are_measured_and_lead_back_to_their_line",
        "runner/execution/test_conditions.py::test_what_always_holds_is_apart_from_what_holds_now",
        "runner/execution/test_conditions.py::test_turbo_and_idle_states_are_told_as_the_kernel_has_them",
        "runner/executors/test_local.py::test_mount_options_are_in_effect",
        "runner/safety/test_checks.py::test_it_is_set_read_back_and_restored",
    ),
    "Begin from a known state; say whether caches are cold": (
        "runner/execution/test_preparation.py::test_what_held_for_the_run_is_noted_beside_what_always_holds",
        "core/workloads/test_fio_depths.py::test_each_direction_and_queue_depth_is_a_command_on_a_file_system_mounted_anew",
        "studies/jobs/test_limits.py::test_the_review_says_where_nothing_can_be_mounted_anew",
    ),
    "Repeat, and show how much results scatter": (
        "core/stats/test_intervals.py::test_it_is_the_interval_that_scipy_works_out",
        "studies/scores/test_intervals.py::test_of_several_repeats_the_page_shows_the_half_width_of_these",
        "studies/runs/test_repeats.py::test_it_stops_when_it_is_sure",
    ),
    "As many repeats as the variability asks for, not a fixed number": (
        "core/scoring/test_repeating.py::test_every_test_has_to_be_sure",
        "core/stats/test_racing.py::test_what_is_clear_ends_early_and_says_what_it_saved",
        "core/stats/test_medians.py::test_the_ends_are_the_narrowest_that_the_binomial_distribution_allows",
        "compare/tables/verdicts/test_ratio_verdicts.py::test_the_median_stands_beside_the_mean_with_an_interval_of_its_own",
    ),
    "Repeat at the level at which results vary": (
        "runner/execution/test_preparation.py::test_mkfs_and_mount_are_measured_and_lead_back_to_their_line",
        "runner/guests/test_guest.py::test_it_measures_what_the_hosts_kernel_may_not_have",
    ),
    "An order that no drift can favour": (
        "studies/test_sequence.py::test_every_block_has_everything_once",
        "studies/test_sequence.py::test_positions_in_a_random_order_are_about_even",
        "core/stats/test_verdicts.py::test_a_drift_of_the_blocks_does_not_hide_a_difference",
    ),
    "Say how large a difference is, with an interval, not only that there is one": (
        "core/stats/test_verdicts.py::test_interval_and_p_values_are_those_of_the_delta_method",
        "core/stats/test_verdicts.py::test_what_is_less_than_the_margin_is_no_difference_however_sure",
        "core/stats/test_verdicts.py::test_q_values_are_those_of_benjamini_and_hochberg",
    ),
    "Means as the quantity asks (rates, ratios)": (
        "core/scoring/test_scores.py::test_the_harmonic_mean_of_rates_is_all_work_over_all_time",
        "core/scoring/test_work_profiles.py::test_a_ratio_is_the_weighted_geometric_mean_of_speeds",
    ),
    "Say what could be reached (bounds)": (
        "runner/execution/test_probes.py::test_the_first_run_of_a_block_measures_the_lun_and_all_are_set_against_it",
        "studies/scores/test_series_shares.py::test_a_score_is_set_against_the_mean_of_its_blocks",
        "studies/jobs/test_probe_job.py::test_what_lies_on_several_luns_is_not_measured_and_the_reason_is_said",
        "catalog/configurations/test_layers.py::test_below_the_layers_of_one_lun_the_lun_itself_is_measured",
    ),
    "Not one number: which dimension (device, layout, cache, metadata, scaling) was measured": (
        "core/scoring/test_cache_boundary.py::test_the_edge_is_where_the_rate_falls_off",
        "core/scoring/test_quality_cells.py::test_rates_above_the_device_are_memorys",
        "core/scoring/test_loads.py::test_the_axis_is_what_is_varied_most",
        "core/test_latency.py::test_a_percentile_is_that_of_the_sorted_latencies",
    ),
    "Purge the device, then twice its capacity one after the other with random data": (
        "runner/execution/test_preparation.py::test_discard_empties_the_device_before_mkfs",
        "runner/execution/test_preparation.py::test_the_whole_device_is_written_once_and_told_on_the_way",
        "catalog/configurations/test_preparation.py::test_written_twice_is_two_passes_of_the_same_command",
    ),
    "Then the workload itself until it is steady, and measure there": (
        "core/scoring/test_steady_state.py::test_every_window_of_the_steady_part_is_steady_and_the_one_before_is_not",
        "core/workloads/test_fio_depths.py::test_a_run_that_stops_at_steady_state_keeps_fios_verdict",
        "core/workloads/test_own.py::test_a_job_may_end_when_its_rate_is_steady_by_fios_own_rule",
        "core/formats/test_fio.py::test_a_job_that_stopped_at_steady_state_has_the_rates_of_its_window",
        "studies/scores/test_quality.py::test_a_test_that_never_became_steady_carries_a_flag_and_is_not_sound",
    ),
    "Data that the device cannot shrink, said": (
        "core/workloads/test_data.py::test_fio_writes_data_as_compressible_as_was_asked",
        "core/workloads/test_data.py::test_fio_writes_as_many_duplicates_as_were_asked",
        "core/workloads/test_data.py::test_iozone_writes_the_data_that_were_asked",
        "core/workloads/test_data.py::test_our_own_programs_write_data_as_compressible_as_was_asked",
        "core/workloads/test_data.py::test_our_own_programs_write_as_many_duplicates_as_were_asked",
        "core/workloads/test_data.py::test_sysbench_and_fs_mark_write_data_that_nothing_is_left_of",
        "core/workloads/test_data.py::test_postmark_writes_text_that_compresses_to_what_is_said",
        "studies/jobs/test_limits.py::test_review_and_preview_warn_where_data_compress_on_a_file_system_that_compresses",
    ),
    "Know and control what makes storage stacks vary: allocation, age, background work, "
    "temperature": (
        "runner/execution/test_preparation.py::test_it_is_aged_and_what_that_did_is_kept",
        "runner/execution/test_preparation.py::test_the_file_system_is_filled_with_files",
        "studies/scores/test_drift.py::test_a_run_has_the_worse_of_the_references_beside_it",
        "studies/runs/test_contention.py::test_two_at_once_mark_each_other",
        "core/scoring/test_busy.py::test_more_than_half_a_task_a_processor_is_busy",
        "studies/views/test_lun_ledger.py::test_probes_over_time_show_what_changed_of_the_disk",
        "runner/host/test_disk_health.py::test_of_nvme_wear_and_errors",
    ),
    "Record the processors' frequency and idle states, and hold them": (
        "runner/execution/test_conditions.py::test_turbo_and_idle_states_are_told_as_the_kernel_has_them",
        "runner/execution/test_conditions.py::test_what_is_held_of_the_processors_stands_with_the_run",
        "runner/host/tuning/test_processors.py::test_they_are_held_and_given_back",
        "runner/host/tuning/test_processors.py::test_after_kill_9_they_are_given_back",
    ),
    "Processors near the device": (
        "runner/safety/test_blockdev.py::test_the_processors_beside_a_device_are_those_of_the_node_of_its_bus",
        "runner/agent/test_agent.py::test_processors_beside_the_device_are_taken_first",
    ),
    "The steady state of random writes in one pass": (
        "catalog/configurations/test_preparation.py::test_sprandom_is_one_pass_instead_of_writing_once",
        "catalog/configurations/test_preparation.py::test_sprandom_is_of_fio_3_41_and_later",
    ),
    "Cost as well as speed (price, energy)": (
        "core/activity/test_costs.py::test_a_stated_price_is_spread_over_its_years",
        "core/activity/test_costs.py::test_the_energy_of_the_device_is_told_for_itself",
        "runner/agent/test_sampler.py::test_the_energy_goes_on_where_its_counter_begins_again",
    ),
    "Limits of the control group as parameters": (
        "runner/host/test_control_groups.py::test_reads_are_as_slow_as_the_limit_and_the_group_is_gone",
        "studies/jobs/test_run_limits.py::test_everything_is_run_with_each_combination_in_each_block",
        "studies/jobs/test_run_limits.py::test_guests_and_folders_have_none",
    ),
}


def table() -> dict[str, tuple[str, str]]:
    """{demand: (source, what is done)} of the page's last section."""
    section = METHOD.partition("\n## Demands, and what fsbench does\n")[2].partition("\n## ")[0]
    rows = [
        [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        for line in section.splitlines()
        if line.startswith("| ")
    ]
    assert rows[:2] == [
        ["demand", "source", "what fsbench does"],
        ["---", "---", "---"],
    ]
    return {demand: (source, done) for demand, source, done in rows[2:]}


def test_every_demand_has_its_source_and_tests_and_no_test_is_of_another() -> None:
    assert list(table()) == list(SHOWN_BY)
    for source, done in table().values():
        assert source
        assert done


@pytest.mark.parametrize("name", sorted({name for names in SHOWN_BY.values() for name in names}))
def test_what_shows_it_is_there(name: str) -> None:
    path, _, function = name.partition("::")
    assert f"def {function}(" in (ROOT / "tests" / path).read_text()


@pytest.mark.parametrize(
    "source",
    ["Traeger", "Tarasov", "SNIA", "Kalibera and Jones", "Hoefler and Belli", "CONFIRM", "Cao"],
)
def test_the_fields_sources_are_answered(source: str) -> None:
    assert any(source in sources for sources, _ in table().values())


def test_options_that_the_table_names_are_those_of_a_job() -> None:
    _, purge = table()[
        "Purge the device, then twice its capacity one after the other with random data"
    ]
    assert set(re.findall(r"`(\w+)`", purge)) <= set(Preparation.__dataclass_fields__)
    assert {"probe_s", "until", "race", "reference"} <= set(JobSpec.model_fields)
    _, held = table()["Record the processors' frequency and idle states, and hold them"]
    (setting,) = re.findall(r"`(FSBENCH_\w+)`", held)
    assert f"`{setting}`" in (ROOT / "docs/settings.md").read_text()


def test_limits_that_the_page_names_are_those_of_the_code() -> None:
    source, _ = table()["The steady state of random writes in one pass"]
    assert "{}.{} and later".format(*SPRANDOM_FROM) in source
    assert f"fio {SPRANDOM_FROM[0]}.{SPRANDOM_FROM[1]} or later" in METHOD
    _, steady = table()["Then the workload itself until it is steady, and measure there"]
    assert "windows of five intervals" in steady
    assert (steady_state.WINDOW, ceilings.SURE_PERCENT) == (5, 3)
    assert f"differ by at most {steady_state.MOST_RANGE_PERCENT:g}%" in METHOD
    assert f"falls by at most {steady_state.MOST_SLOPE_PERCENT:g}% of it" in METHOD
    assert busy.MOST_IDLE == 0.5


def test_workloads_of_fio_may_stop_at_steady_state_and_choose_their_data() -> None:
    steady, data = STEADY[0].key, "compress_percent"
    names = {kind.tool: {parameter.key for parameter in kind.parameters} for kind in BUILTIN}
    assert {tool for tool, keys in names.items() if steady in keys} == {"fio-depths", "pgmeter"}
    assert {tool for tool, keys in names.items() if data in keys} >= {
        *("fio-depths", "pgmeter", "random-access", "rocksdb"),
        *("filemark", "mongo", "maildir", "sqlite", "container-image", "pgbench"),
    }
    assert "contents" in names["iozone"]
