"""The workloads in the job form: presets by question, their parameters as text, what they ask."""

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from fsbench_web.catalog.workloads.own_workloads import offered_presets, preset_of
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
    def choices(self) -> list[tuple[str, str]]:
        """(value, label) of every choice; a value that is none of them stays to be seen."""
        parameter = self.parameter
        choices = [(str(kb), numbers.benchmark_size(kb)) for kb in parameter.sizes_kb]
        choices += [("no", "no"), ("yes", "yes")] if parameter.is_flag else parameter.choices
        if choices and self.value not in dict(choices):
            choices.append((self.value, self.value))
        return choices


@dataclass(frozen=True)
class PresetFields:
    """A preset with its fields, the bytes it needs and the seconds that its parameters ask for.

    ``problems`` say why it cannot be run on the chosen LUN now.
    """

    preset: Preset
    is_chosen: bool
    fields: tuple[ParameterField, ...]
    space_bytes: int
    asked_s: float | None
    problems: tuple[str, ...] = ()
    no_room: str = ""
    """Why its files have no room on the chosen LUN with what is ticked; "" where they may."""

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
    """A workload with its presets; ``paper`` names its paper, or ""."""

    tool: str
    name: str
    about: str
    paper: str
    presets: tuple[PresetFields, ...]

    @property
    def problems(self) -> list[str]:
        """What keeps every preset of it from being run: said once."""
        first, *others = [preset.problems for preset in self.presets]
        return [problem for problem in first if all(problem in each for each in others)]

    @property
    def chosen(self) -> int:
        return sum(preset.is_chosen for preset in self.presets)

    @property
    def fitting(self) -> str:
        """The largest preset that has room on the LUN; "" for none."""
        fitting = (preset for preset in self.presets if not preset.no_room)
        largest = max(fitting, key=lambda preset: preset.space_bytes, default=None)
        return largest.preset.title if largest else ""

    @property
    def choices(self) -> list[tuple[PresetFields, list[str]]]:
        """Every preset with what keeps it alone from being run."""
        shared = self.problems
        return [
            (preset, [problem for problem in preset.problems if problem not in shared])
            for preset in self.presets
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
        return sum(workload.chosen for workload in self.workloads)


def shown_presets(
    chosen: Container[str], changed_texts: Mapping[str, Mapping[str, str]]
) -> list[PresetFields]:
    """All presets; ``changed_texts`` are those that the form changes, by preset and parameter."""
    all_fields = []
    for preset in offered_presets(chosen):
        texts = changed_texts.get(preset.slug, {})
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
        all_fields.append(
            PresetFields(
                preset,
                preset.slug in chosen,
                fields,
                workload.space_needed_bytes(),
                workload.estimated_s(),
            )
        )
    return all_fields


def by_question(presets: Iterable[PresetFields]) -> list[QuestionGroup]:
    """The same presets by question and workload, without questions that have none."""
    questions: dict[str, list[PresetFields]] = {question: [] for question in QUESTIONS}
    for preset_fields in presets:
        questions[preset_fields.preset.answers].append(preset_fields)
    return [
        QuestionGroup(name, tuple(by_workload(group))) for name, group in questions.items() if group
    ]


def by_workload(presets: Iterable[PresetFields]) -> list[WorkloadPresets]:
    """The same presets by workload, in the order in which each first appears."""
    tools: dict[str, list[PresetFields]] = {}
    for preset_fields in presets:
        tools.setdefault(preset_fields.preset.tool, []).append(preset_fields)
    kinds = ((workload_types()[tool], group) for tool, group in tools.items())
    return [
        WorkloadPresets(kind.tool, kind.name, kind.about, kind.paper, tuple(group))
        for kind, group in kinds
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
    return {
        parameter.key: _preset_text(preset, parameter) for parameter in _type(preset).parameters
    }


def texts_of(wanted: WorkloadSpec) -> dict[str, str]:
    """The changed parameters of a job as a form has them."""
    preset = preset_of(wanted.name)
    parameters = (
        {parameter.key: parameter for parameter in _type(preset).parameters} if preset else {}
    )
    return {
        key: parameters[key].to_text(value) if key in parameters else str(value)
        for key, value in wanted.parameters.items()
        if key not in parameters or not parameters[key].fixed
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
    parameters = {parameter.key: parameter for parameter in kind.parameters} if kind else {}
    return [
        (parameters[key].label, _value_in_words(parameters[key], value))
        if key in parameters
        else (_OTHER_LABELS.get(key, key), _plain_text(value))
        for key, value in values.items()
    ]


def _value_in_words(parameter: Parameter, value: Value) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        if parameter.sizes_kb or parameter.unit == "KB":
            return numbers.benchmark_size(value)
        if parameter.unit == "seconds":
            return numbers.duration(value)
    if isinstance(value, str):
        return dict(parameter.choices).get(value, value)
    text = parameter.to_text(value)
    return f"{text} {parameter.unit}" if parameter.unit and text else text


def _plain_text(value: object) -> str:
    if isinstance(value, list):
        return "; ".join(map(str, value)) or "none that changes what is measured"
    return str(value)
