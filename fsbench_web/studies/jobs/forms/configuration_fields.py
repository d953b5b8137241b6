"""The configurations as fields of the job form: file systems, their variants, their options."""

from dataclasses import dataclass

from fsbench_web.catalog.configurations.filesystems import Filesystem, Option
from fsbench_web.studies.jobs.forms.stack_fields import CACHE, LOG, NONE, SPECIAL, StackFields

MAXIMUM_VARIANTS = 12
_POOL_ROLES = {
    SPECIAL: ("Metadata (special)", "For metadata, and small blocks where an option says so"),
    LOG: ("Log (ZIL)", "For what is written synchronously, first"),
    CACHE: ("Cache (L2ARC)", "For a second cache of what is read, behind memory"),
}
_OWN_CACHE = {CACHE: ("Cache", "For what is written and read, in front of the others")}
_LAYERS_CACHE = {CACHE: ("Cache", "For a layer with a cache: LVM, bcache")}


@dataclass(frozen=True)
class RoleField:
    """The LUNs of a stack that are for something else than data; ``help`` says for what."""

    name: str
    title: str
    help: str
    chosen: tuple[str, ...]


def role_fields(spec: Filesystem, key: str, stack: StackFields, is_guest: bool) -> list[RoleField]:
    """Those that the file system or its layers can use, and those that are chosen all the same:
    they stay to be seen, and are refused.
    """
    offered = _LAYERS_CACHE if is_guest and spec.is_made else {}
    if spec.is_pool:
        offered = _POOL_ROLES
    elif spec.takes_cache:
        offered = _OWN_CACHE
    others = {role: (role.capitalize(), "Not used here") for role in _POOL_ROLES}
    return [
        RoleField(f"{key}.{role}", *words, getattr(stack, role))
        for role, words in (others | offered).items()
        if role in offered or getattr(stack, role)
    ]


@dataclass(frozen=True)
class OptionField:
    """One tuning dimension of one variant, with the value chosen ("" is the tool's default)."""

    name: str
    option: Option
    value: str

    @property
    def is_unknown(self) -> bool:
        """A value that is on no list: it stays to be seen, and is refused."""
        values = {choice.value for choice in self.option.choices}
        return bool(values) and self.value not in {"", *values}


@dataclass(frozen=True)
class Variant:
    """One configuration of a file system, before schedulers."""

    key: str
    number: int
    is_chosen: bool
    fields: tuple[OptionField, ...]
    journal: str = ""
    stack: StackFields = NONE
    roles: tuple[RoleField, ...] = ()

    @property
    def in_words(self) -> str:
        """What is not left at its default, in words; "" where all is."""
        named = [f"{field.option.name} {field.value}" for field in self.fields if field.value]
        named += [f"journal on {self.journal}"] if self.journal else []
        return ", ".join(named + self.stack.in_words)


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
