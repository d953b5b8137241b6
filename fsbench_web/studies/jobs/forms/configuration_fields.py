"""The configurations as fields of the job form: file systems, their variants, their options."""

from dataclasses import dataclass

from fsbench_web.catalog.configurations.filesystems import Filesystem, Option
from fsbench_web.studies.jobs.forms.stack_fields import NONE, StackFields

MAXIMUM_VARIANTS = 12


@dataclass(frozen=True)
class OptionField:
    """One tuning dimension of one variant, with the value chosen ("" is the tool's default)."""

    name: str
    option: Option
    value: str

    @property
    def is_unknown(self) -> bool:
        """A value that is on no list: it stays to be seen, and is refused."""
        known = {choice.value for choice in self.option.choices}
        return bool(known) and self.value not in {"", *known}


@dataclass(frozen=True)
class Variant:
    """One configuration of a file system, before schedulers."""

    key: str
    number: int
    is_chosen: bool
    fields: tuple[OptionField, ...]
    journal: str = ""
    stack: StackFields = NONE

    @property
    def said(self) -> str:
        """What is not left at its default, in words; "" where all is."""
        named = [f"{one.option.name} {one.value}" for one in self.fields if one.value]
        named += [f"journal on {self.journal}"] if self.journal else []
        named += [f"over {', '.join(self.stack.luns)} too"] if self.stack.luns else []
        named += [f"layers {self.stack.layers}"] if self.stack.layers else []
        named += [f"cache on {self.stack.cache}"] if self.stack.cache else []
        return ", ".join(named)


@dataclass(frozen=True)
class FilesystemGroup:
    """A file system with its variants, and why it cannot be chosen (if it cannot)."""

    spec: Filesystem
    variants: tuple[Variant, ...]
    problems: tuple[str, ...] = ()

    @property
    def is_possible(self) -> bool:
        """Whether it can be chosen, or is."""
        return not self.problems or any(variant.is_chosen for variant in self.variants)

    @property
    def can_add(self) -> bool:
        return self.spec.is_made and len(self.variants) < MAXIMUM_VARIANTS
