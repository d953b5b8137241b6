"""The job form: its fields in the query string, and what the page shows of them. No database.

The address holds the whole form. ``fs=ext4.2`` is the second variant of ext4, with options like
``ext4.2.journal_mode=writeback`` (``configuration_fields``); ``workload=iozone-small`` has
parameters like ``iozone-small.maximum_file_kb=4096``; ``options`` has the others. Chosen variants
times chosen schedulers are the configurations, each run with every workload. The reference has the
first scheduler. ``suggested`` is what the page itself ticked.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import quote

from django.http import QueryDict

from fsbench_web.catalog.configurations.filesystems import ALL, ON_LUNS
from fsbench_web.catalog.configurations.stacks import ROLE_KEYS
from fsbench_web.catalog.workloads.own_workloads import is_uploaded
from fsbench_web.core.workloads import ParameterError, presets
from fsbench_web.core.workloads.parameters import Value
from fsbench_web.studies.jobs.forms import configuration_fields
from fsbench_web.studies.jobs.forms.configuration_fields import (
    JOURNAL,
    MAXIMUM_VARIANTS,
    FilesystemGroup,
    Variant,
)
from fsbench_web.studies.jobs.forms.options import OptionsForm, options_of, read_options
from fsbench_web.studies.jobs.forms.workload import (
    PresetFields,
    parameter_of,
    shown_presets,
    texts_of,
    usual_texts,
)
from fsbench_web.studies.jobs.spec import ConfigurationSpec, JobSpec, ReferenceSpec, WorkloadSpec

DEFAULT_WORKLOAD = "iozone-small"
# As ``suggested``: the page ticked nothing by itself. Empty fields are not sent.
NOTHING = "nothing"
# In ``suggested`` too: its worker was setting itself up, so that more can be run soon.
FOR_NOW = "for-now"
_VARIANT = re.compile(r"^([a-z0-9]{1,20})\.([1-9][0-9]?)$")
_NUMBER = re.compile(r"^[0-9]{1,12}$")


@dataclass
class JobForm(OptionsForm):
    """What a query string says, with defaults where it says nothing."""

    lun: str = ""
    variants: list[tuple[str, int]] = field(default_factory=list)
    chosen: list[str] = field(default_factory=list)
    options: dict[str, dict[str, str]] = field(default_factory=dict)
    schedulers: list[str] = field(default_factory=list)
    workloads: list[str] = field(default_factory=lambda: [DEFAULT_WORKLOAD])
    parameters: dict[str, dict[str, str]] = field(default_factory=dict)
    study: str = ""
    new_study: str = ""
    suggested: str = ""
    is_fresh: bool = True
    names_workloads: bool = True

    @property
    def suggested_variants(self) -> list[str]:
        return [key for key in self.suggested.split() if _VARIANT.match(key)]

    @property
    def suggested_workloads(self) -> list[str]:
        names = self.suggested.split()
        return [
            name for name in names if name not in (NOTHING, FOR_NOW) and not _VARIANT.match(name)
        ]

    @property
    def is_suggested_for_now(self) -> bool:
        """Whether what was ticked was the best of what could be run before everything was there."""
        return FOR_NOW in self.suggested.split()

    @property
    def has_own_filesystems(self) -> bool:
        """Whether somebody chose file systems, or unticked what was suggested."""
        if not self.suggested:
            return bool(self.chosen) or not self.is_fresh
        # A browser sends what is ticked in the order of the page.
        if set(self.chosen) != set(self.suggested_variants):
            return True
        return any(map(self._has_options, self.chosen))

    @property
    def has_own_workloads(self) -> bool:
        """Whether somebody chose workloads, unticked what was suggested, or changed it."""
        if not self.suggested:
            return self.names_workloads
        if set(self.workloads) != set(self.suggested_workloads):
            return True
        return any(map(self._changed_parameters, self.workloads))

    @property
    def tuned_count(self) -> int:
        """How many chosen variants have options, and how many workloads other parameters."""
        tuned = filter(self._has_options, self.chosen)
        return len([*tuned, *filter(self._changed_parameters, self.workloads)])

    def _has_options(self, key: str) -> bool:
        return any(self.options.get(key, {}).values())

    def _changed_parameters(self, slug: str) -> dict[str, str]:
        usual, texts = usual_texts(slug), self.parameters.get(slug, {})
        return {name: text for name, text in texts.items() if text != usual.get(name)}

    def suggest(self, variants: list[str], workloads: list[str], *, for_now: bool = False) -> None:
        """Tick these, as the page's suggestion; what somebody chose stays."""
        if not self.has_own_filesystems:
            self.chosen = variants
        else:
            variants = self.suggested_variants
        if not self.has_own_workloads:
            self.workloads = workloads
        else:
            workloads = self.suggested_workloads
        parts = [*variants, *workloads] or [NOTHING]
        self.suggested = " ".join([*parts, FOR_NOW] if for_now else parts)

    def leave_out(self, workloads: Collection[str]) -> None:
        """Untick these and reset their parameters; suggest nothing instead."""
        self.workloads = [slug for slug in self.workloads if slug not in workloads]
        for slug in workloads:
            self.parameters.pop(slug, None)
        if self.suggested and not self.workloads:
            names = [name for name in self.suggested.split() if name not in (NOTHING, *workloads)]
            self.suggested = " ".join([*names, *workloads])

    @property
    def lun_id(self) -> int | None:
        return int(self.lun) if _NUMBER.match(self.lun) else None

    def filesystem_groups(
        self, problems: Mapping[str, Iterable[str]] | None = None
    ) -> list[FilesystemGroup]:
        """The file systems of ``problems`` (or all that are made) and the chosen ones, with
        variants.
        """
        groups = []
        chosen = [key.rsplit(".", 1)[0] for key in self.chosen]
        slugs = dict.fromkeys([*(problems or ON_LUNS), *(slug for slug in chosen if slug in ALL)])
        for spec in (ALL[slug] for slug in slugs):
            numbers = sorted({1, *(n for slug, n in self.variants if slug == spec.slug)})
            keys = [(number, f"{spec.slug}.{number}") for number in numbers]
            variants = tuple(
                Variant(
                    *(spec, number, key in self.chosen, self.options.get(key, {}), self.is_guest)
                )
                for number, key in keys
            )
            groups.append(
                FilesystemGroup(spec, variants, tuple((problems or {}).get(spec.slug, ())))
            )
        return groups

    def presets(self) -> list[PresetFields]:
        """All presets with their parameters, changed where the form changes them."""
        return shown_presets(self.workloads, self.parameters)

    def add_variant(self, slug: str) -> None:
        """One more variant of a file system, chosen. What is no file system adds nothing."""
        numbers = {1, *(n for name, n in self.variants if name == slug)}
        if slug not in ON_LUNS or not ON_LUNS[slug].options or len(numbers) >= MAXIMUM_VARIANTS:
            return
        number = max(numbers) + 1
        self.variants += [(slug, 1), (slug, number)]
        self.chosen.append(f"{slug}.{number}")

    def remove_variant(self, key: str) -> None:
        """Drop a variant with its options."""
        self.variants = [variant for variant in self.variants if "{}.{}".format(*variant) != key]
        self.chosen = [chosen for chosen in self.chosen if chosen != key]
        self.options.pop(key, None)
        if self["reference"] == key:
            self.texts["reference"] = ""

    def spec(self) -> JobSpec:
        """The job. What cannot be read is noted in ``unreadable`` and refused with it."""
        unreadable: dict[str, list[str]] = {}
        if self.lun and self.lun_id is None:
            unreadable["lun"] = [f'"{self.lun}" is not the number of a LUN: choose one.']
        options = self.run_options(unreadable)
        first, *more = [self.workload_spec(slug, unreadable) for slug in self.workloads or [""]]
        return JobSpec(
            lun_id=self.lun_id,
            configurations=self._configurations(unreadable),
            workload=first.name,
            parameters=first.parameters,
            more_workloads=tuple(more),
            reference=self._reference(options.reference_every, unreadable),
            study=self.study,
            new_study="" if self.study else self.new_study,
            **options.options(),
            unreadable=unreadable,
        )

    def workload_spec(self, slug: str, unreadable: dict[str, list[str]]) -> WorkloadSpec:
        """One of the workloads with its parameters; what cannot be read is noted and left out."""
        parameters: dict[str, Value] = {}
        for key, text in self.parameters.get(slug, {}).items():
            try:
                parameters[key] = parameter_of(slug, key).of_text(text)
            except ParameterError as error:
                unreadable.setdefault("workload", []).append(str(error))
        return WorkloadSpec(slug, parameters)

    def _reference(self, every: int, unreadable: dict[str, list[str]]) -> ReferenceSpec | None:
        if not self["reference"]:
            return None
        match = _VARIANT.match(self["reference"])
        if match is None:
            unreadable["reference"] = [
                f'"{self["reference"]}" is none of the configurations: choose one, or no reference.'
            ]
            return None
        wanted = self._variant_spec(self["reference"], (self.schedulers or [""])[0], unreadable)
        return ReferenceSpec(wanted, every)

    def _configurations(self, unreadable: dict[str, list[str]]) -> tuple[ConfigurationSpec, ...]:
        return tuple(
            self._variant_spec(key, scheduler, unreadable)
            for key in self.chosen
            for scheduler in (self.schedulers or [""])
        )

    def _variant_spec(
        self, key: str, scheduler: str, unreadable: dict[str, list[str]]
    ) -> ConfigurationSpec:
        options = {name: value for name, value in self.options.get(key, {}).items() if value}
        journal, stack = (
            options.pop(JOURNAL, ""),
            configuration_fields.pop_stack(options, unreadable),
        )
        filesystem = key.rsplit(".", 1)[0]
        return ConfigurationSpec(filesystem, options, scheduler, journal, stack)

    def to_query(self, *, with_rows: bool = False) -> str:
        """The shortest query string that says the same; ``with_rows`` keeps unchosen variants."""
        query = QueryDict(mutable=True)
        query["lun"] = self.lun
        query.setlist("fs", self.chosen)
        rows = [f"{slug}.{number}" for slug, number in self.variants] if with_rows else []
        reference = [self["reference"]] if self["reference"] else []
        for key in dict.fromkeys([*self.chosen, *reference, *rows]):
            values = {name: value for name, value in self.options.get(key, {}).items() if value}
            if not values and key not in (*self.chosen, *reference):
                spec = ON_LUNS.get(key.split(".")[0])
                if spec is None or not spec.options:
                    continue
                # An option without a value says that the row is there.
                values = {spec.options[0].key: ""}
            for name, value in values.items():
                query[f"{key}.{name}"] = value
        query.setlist("scheduler", self.schedulers)
        query.setlist("workload", self.workloads)
        for slug in self.workloads:
            for name, value in self._changed_parameters(slug).items():
                query[f"{slug}.{name}"] = value
        self.write_options(query)
        if self.study:
            query["study"] = self.study
        else:
            query["new_study"] = self.new_study
        if with_rows and self.suggested:
            query["suggested"] = self.suggested
        return query.urlencode()


def read(query: QueryDict) -> JobForm:
    """The form in a query string. Never raises: what makes no sense is left for ``spec``."""
    query = QueryDict(query.urlencode().replace("%00", quote("\ufffd")))
    is_fresh = "repeats" not in query and "repeat_by" not in query
    # The page's form always sends an empty one too: an address that names none takes the usual one,
    # and a form in which none is ticked is refused.
    usual_workloads = [] if "workload" in query else [DEFAULT_WORKLOAD]
    form = JobForm(
        lun=query.get("lun", "").strip(),
        schedulers=list(dict.fromkeys(query.getlist("scheduler"))),
        workloads=list(dict.fromkeys(filter(None, query.getlist("workload")))) or usual_workloads,
        **read_options(query),
        study=query.get("study", "").strip(),
        new_study=query.get("new_study", "").strip(),
        suggested=query.get("suggested", "").strip(),
        is_fresh=is_fresh,
        names_workloads="workload" in query,
    )
    for key in dict.fromkeys(query.getlist("fs")):
        match = _VARIANT.match(key)
        # An unknown file system stays in the job, so that it is refused and not dropped.
        form.chosen.append(key if match else f"{key}.1")
        if match:
            form.variants.append((match[1], int(match[2])))
    referred = _VARIANT.match(form["reference"])
    if referred:
        form.variants.append((referred[1], int(referred[2])))
    for name, value in query.items():
        assert isinstance(value, str)
        head, _, last = name.rpartition(".")
        match = _VARIANT.match(head)
        if match and match[1] in ON_LUNS:
            text = ",".join(query.getlist(name)) if last in ROLE_KEYS else value
            form.options.setdefault(head, {})[last] = text.strip()
            form.variants.append((match[1], int(match[2])))
        elif head in presets() or is_uploaded(head):
            form.parameters.setdefault(head, {})[last] = value.strip()
    if "add" in query:
        form.add_variant(str(query["add"]))
    if "remove_variant" in query:
        form.remove_variant(str(query["remove_variant"]))
    return form


def prefilled(spec: JobSpec) -> JobForm:
    """The form that makes this job. Configurations that differ in the scheduler are one variant."""
    form = JobForm(
        lun="" if spec.lun_id is None else str(spec.lun_id),
        workloads=[wanted.name for wanted in spec.workloads],
        parameters={wanted.name: texts_of(wanted) for wanted in spec.workloads},
        **options_of(spec),
        study=spec.study,
        new_study=spec.new_study,
        is_fresh=False,
    )
    counts: dict[str, int] = {}
    seen: list[ConfigurationSpec] = []
    for wanted in spec.configurations:
        if wanted.scheduler and wanted.scheduler not in form.schedulers:
            form.schedulers.append(wanted.scheduler)
        plain = replace(wanted, scheduler="")
        if plain in seen:
            continue
        seen.append(plain)
        number = counts[wanted.filesystem] = counts.get(wanted.filesystem, 0) + 1
        key = f"{wanted.filesystem}.{number}"
        form.variants.append((wanted.filesystem, number))
        form.chosen.append(key)
        form.options[key] = {name: str(value) for name, value in wanted.options.items()}
        form.options[key] |= {JOURNAL: wanted.journal} if wanted.journal else {}
        form.options[key] |= configuration_fields.texts_of(wanted.stack)
    return form
