"""The workloads in the job form: presets by question, their parameters as text, what they ask."""

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from fsbench_web.catalog.workloads.own_workloads import offered, preset_of
from fsbench_web.core import numbers
from fsbench_web.core.workloads import Parameter, ParameterError, Preset, Workload, workload_types
from fsbench_web.core.workloads.base import QUESTIONS
from fsbench_web.core.workloads.parameters import MOST_IN_A_LIST, Kind, Value
from fsbench_web.studies.jobs.spec import WorkloadSpec


@dataclass(frozen=True)
class ParameterField:
    """A parameter with its value as text, which may be one that will be refused."""

    name: str
    parameter: Parameter
    value: str

    @property
    def bounds(self) -> str:
        """What may be typed in, in words; "" where there is a choice."""
        parameter = self.parameter
        between = f"{parameter.minimum:,} to {parameter.maximum:,}"
        if parameter.kind == Kind.WHOLE:
            return f"{between}."
        if parameter.kind == Kind.WHOLES:
            return f"Up to {MOST_IN_A_LIST} numbers from {between}, with commas between them."
        return ""

    @property
    def choices(self) -> list[tuple[str, int | None]]:
        """(value, KB) of every size; a value that is none of them stays to be seen."""
        known: list[tuple[str, int | None]] = [(str(kb), kb) for kb in self.parameter.sizes_kb]
        if self.value not in {value for value, _ in known}:
            known.append((self.value, None))
        return known

    @property
    def labelled_choices(self) -> list[tuple[str, str]]:
        """(value, label) of every choice; a value that is none of them stays to be seen."""
        known = list(self.parameter.choices)
        if self.value not in dict(known):
            known.append((self.value, self.value))
        return known


@dataclass(frozen=True)
class PresetFields:
    """A preset with its fields. ``space_bytes`` and ``asked_s`` are of its own parameters.

    ``asked_s`` is what the parameters themselves ask for, in seconds, without what the disk adds;
    None where the disk decides alone. ``problems`` say why it cannot be run on the chosen LUN now.
    """

    preset: Preset
    is_chosen: bool
    fields: tuple[ParameterField, ...]
    programs: tuple[str, ...]
    space_bytes: int
    asked_s: float | None
    problems: tuple[str, ...] = ()
    no_room: str = ""
    """Why its files have no room on the chosen LUN with what is ticked; "" where they may."""

    @property
    def fits(self) -> bool:
        """Else nobody ticks it."""
        return not self.no_room

    @property
    def changed(self) -> str:
        """The parameters that are others than those of the preset, in words; "" for none."""
        return ", ".join(
            f"{field.parameter.label} {field.value or 'empty'} {field.parameter.unit}".rstrip()
            for field in self.fields
            if field.value != _preset_text(self.preset, field.parameter)
        )


@dataclass(frozen=True)
class WorkloadPresets:
    """A workload with its presets; ``paper`` is whose it is, "" where it is nobody's."""

    tool: str
    name: str
    about: str
    paper: str
    presets: tuple[PresetFields, ...]

    @property
    def problems(self) -> list[str]:
        """What keeps every preset of it from being run: said once."""
        first, *others = [one.problems for one in self.presets]
        return [problem for problem in first if all(problem in each for each in others)]

    @property
    def chosen(self) -> int:
        """How many presets are ticked."""
        return sum(shown.is_chosen for shown in self.presets)

    @property
    def choices(self) -> list[tuple[PresetFields, list[str]]]:
        """Every preset with what keeps it alone from being run."""
        shared = self.problems
        return [
            (one, [each for each in one.problems if each not in shared]) for one in self.presets
        ]


@dataclass(frozen=True)
class QuestionGroup:
    """The workloads that answer one question; one with presets for several is in several."""

    question: str
    workloads: tuple[WorkloadPresets, ...]

    @property
    def names(self) -> str:
        return ", ".join(workload.name for workload in self.workloads)

    @property
    def chosen(self) -> int:
        """How many presets are ticked."""
        return sum(workload.chosen for workload in self.workloads)


def shown_presets(
    chosen: Container[str], given: Mapping[str, Mapping[str, str]]
) -> list[PresetFields]:
    """All presets; ``given`` are the texts that the form changes, by preset and parameter."""
    shown = []
    for preset in offered(chosen):
        texts = given.get(preset.slug, {})
        fields = tuple(
            ParameterField(
                f"{preset.slug}.{parameter.key}",
                parameter,
                texts.get(parameter.key, _preset_text(preset, parameter)),
            )
            for parameter in _type(preset).parameters
            if not parameter.fixed
        )
        workload = preset.workload()
        shown.append(
            PresetFields(
                preset,
                preset.slug in chosen,
                fields,
                tuple(workload.needs),
                workload.space_needed_bytes(),
                workload.estimated_s(),
            )
        )
    return shown


def by_question(shown: Iterable[PresetFields]) -> list[QuestionGroup]:
    """The same presets by question and workload, without questions that have none."""
    asked: dict[str, list[PresetFields]] = {question: [] for question in QUESTIONS}
    for one in shown:
        asked[one.preset.answers].append(one)
    return [QuestionGroup(name, tuple(by_workload(some))) for name, some in asked.items() if some]


def by_workload(shown: Iterable[PresetFields]) -> list[WorkloadPresets]:
    """The same presets by workload, in the order in which each first appears."""
    tools: dict[str, list[PresetFields]] = {}
    for one in shown:
        tools.setdefault(one.preset.tool, []).append(one)
    kinds = ((workload_types()[tool], some) for tool, some in tools.items())
    return [
        WorkloadPresets(kind.tool, kind.name, kind.about, kind.paper, tuple(some))
        for kind, some in kinds
    ]


def _type(preset: Preset) -> type[Workload]:
    return workload_types()[preset.tool]


def _preset_text(preset: Preset, parameter: Parameter) -> str:
    return parameter.to_text(preset.parameters.get(parameter.key, parameter.default))


def usual_texts(slug: str) -> dict[str, str]:
    """The parameters of a preset as the form shows them unchanged; empty for none."""
    preset = preset_of(slug)
    if preset is None:
        return {}
    return {one.key: _preset_text(preset, one) for one in _type(preset).parameters}


def texts_of(wanted: WorkloadSpec) -> dict[str, str]:
    """The changed parameters of a job as a form has them."""
    preset = preset_of(wanted.name)
    known = {one.key: one for one in _type(preset).parameters} if preset else {}
    return {
        key: known[key].to_text(value) if key in known else str(value)
        for key, value in wanted.parameters.items()
        if key not in known or not known[key].fixed
    }


def parameter_of(slug: str, key: str) -> Parameter:
    """A parameter of a preset's workload. Raises ParameterError with a sentence."""
    preset = preset_of(slug)
    if preset is not None:
        for parameter in _type(preset).parameters:
            if parameter.key == key and not parameter.fixed:
                return parameter
    name = _type(preset).name if preset else slug
    raise ParameterError(f'{name} has no parameter "{key}": leave it out.')


_OTHER_LABELS = {"modes": "Settings of the tool"}


def named_parameters(tool: str, values: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Stored parameters as (label, value with its unit); of an unknown tool as they are."""
    kind = workload_types().get(tool)
    known = {one.key: one for one in kind.parameters} if kind else {}
    return [
        (known[key].label, _shown(known[key], value))
        if key in known
        else (_OTHER_LABELS.get(key, key), _plain(value))
        for key, value in values.items()
    ]


def _shown(parameter: Parameter, value: Value) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        if parameter.sizes_kb or parameter.unit == "KB":
            return numbers.benchmark_size(value)
        if parameter.unit == "seconds":
            return numbers.duration(value)
    if isinstance(value, str):
        return dict(parameter.choices).get(value, value)
    text = parameter.to_text(value)
    return f"{text} {parameter.unit}" if parameter.unit and text else text


def _plain(value: object) -> str:
    if isinstance(value, list):
        return "; ".join(map(str, value)) or "none that changes what is measured"
    return str(value)
