"""What every workload must be able to do, whoever wrote it."""

import pytest

from fsbench_web.core.workloads import Place, Preset, presets, workload_of, workload_types


@pytest.mark.parametrize("preset", presets().values(), ids=lambda preset: preset.slug)
def test_presets_can_be_run(preset: Preset) -> None:
    workload = preset.workload()
    assert workload.commands(Place("/m"))
    assert workload.space_needed_bytes() > 0
    assert workload.title()


@pytest.mark.parametrize("kind", workload_types().values(), ids=lambda kind: kind.tool)
def test_values_become_text_and_come_back(kind: type) -> None:
    for preset in kind.presets:
        workload = workload_of(kind.tool, preset.parameters)
        for parameter in workload.parameters:
            value = getattr(workload, parameter.key)
            assert parameter.of_text(parameter.to_text(value)) == value


@pytest.mark.parametrize("preset", presets().values(), ids=lambda preset: preset.slug)
def test_all_commands_stay_in_the_work_folder_or_name_no_path(preset: Preset) -> None:
    for command in preset.workload().commands(Place("/mnt/fsbench")):
        for word in command.argv[1:]:
            if word.startswith("/mnt/fsbench"):
                assert word.startswith("/mnt/fsbench/fsbench.work")
