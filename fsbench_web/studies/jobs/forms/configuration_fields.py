"""The configurations as fields of the job form: file systems, variants, options, stacks."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fsbench_web.catalog.configurations.filesystems import Filesystem, Option
from fsbench_web.catalog.configurations.layers import Layer, layer_of_label
from fsbench_web.catalog.configurations.networks import NETWORK_OPTIONS
from fsbench_web.catalog.configurations.stacks import CACHE, LOG, ROLE_KEYS, SPECIAL, Stack

MAXIMUM_VARIANTS = 12
# Stand among the options of a variant; no file system has an option of these names. A query may say
# several LUNs for each key of ``ROLE_KEYS``.
JOURNAL, LAYERS = "journal", "layers"
OFFERED_LAYERS = tuple(
    tuple(Layer.of(data) for data in layers)
    for layers in (
        *([{"layer": "md", "level": level}] for level in ("raid0", "raid1", "raid10")),
        *([{"layer": "md", "level": level}] for level in ("raid5", "raid6")),
        *([{"layer": "lvm", "layout": layout}] for layout in ("linear", "striped", "thin")),
        *(
            [{"layer": "lvm", "layout": "linear", "cache_mode": mode}]
            for mode in ("writethrough", "writeback")
        ),
        [{"layer": "luks"}],
        [{"layer": "integrity"}],
        [{"layer": "integrity", "writes": "bitmap"}],
        *([{"layer": "bcache", "cache_mode": mode}] for mode in ("writethrough", "writeback")),
        [{"layer": "integrity"}, {"layer": "md", "level": "raid1"}],
        [{"layer": "md", "level": "raid1"}, {"layer": "luks"}],
        [{"layer": "luks"}, {"layer": "md", "level": "raid1"}],
        [{"layer": "md", "level": "raid10"}, {"layer": "lvm", "layout": "linear"}],
    )
)
"""What the form offers; any other is written in a job file, with all options."""
_POOL_ROLES = {
    SPECIAL: ("Metadata (special)", "For metadata, and small blocks where an option says so"),
    LOG: ("Log (ZIL)", "For what is written synchronously, first"),
    CACHE: ("Cache (L2ARC)", "For a second cache of what is read, behind memory"),
}
_OWN_CACHE = {CACHE: ("Cache", "For what is written and read, in front of the others")}
_LAYERS_CACHE = {CACHE: ("Cache", "For a layer with a cache: LVM, bcache")}


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
    """One configuration of a file system, before schedulers. ``texts`` are those of its fields."""

    spec: Filesystem
    number: int
    is_chosen: bool
    texts: Mapping[str, str]
    is_guest: bool

    @property
    def key(self) -> str:
        return f"{self.spec.slug}.{self.number}"

    @property
    def journal(self) -> str:
        return self.texts.get(JOURNAL, "")

    @property
    def fields(self) -> list[OptionField]:
        """What guests alone can do is offered to guests, and stays where it is chosen."""
        return [
            OptionField(f"{self.key}.{option.key}", option, self.texts.get(option.key, ""))
            for option in (self.spec.options if self.spec.is_made else ())
            if option not in NETWORK_OPTIONS or self.is_guest or self.texts.get(option.key)
        ]

    @property
    def stack(self) -> dict[str, Any]:
        """What is chosen: names of LUNs by role, and layers as labels have them."""
        names = {key: _names(self.texts[key]) for key in ROLE_KEYS if self.texts.get(key)}
        layers = self.texts.get(LAYERS)
        return names | ({LAYERS: layers} if layers else {})

    @property
    def roles(self) -> list[dict[str, Any]]:
        """Those that the file system or its layers can use, and those that are chosen; ``chosen``
        are the LUNs.
        """
        offered = _LAYERS_CACHE if self.is_guest and self.spec.is_made else {}
        if self.spec.is_pool:
            offered = _POOL_ROLES
        elif self.spec.takes_cache:
            offered = _OWN_CACHE
        others = {role: (role.capitalize(), "Not used here") for role in _POOL_ROLES}
        return [
            {
                "name": f"{self.key}.{role}",
                "title": title,
                "help": purpose,
                "chosen": self.stack.get(role, ()),
            }
            for role, (title, purpose) in (others | offered).items()
            if role in offered or role in self.stack
        ]

    @property
    def in_words(self) -> str:
        """What differs from the defaults, in words; "" where nothing does."""
        named = [f"{field.option.name} {field.value}" for field in self.fields if field.value]
        named += [f"journal on {self.journal}"] if self.journal else []
        stack = self.stack
        named += [f"over {', '.join(stack['luns'])} too"] if "luns" in stack else []
        named += [f"layers {stack[LAYERS]}"] if LAYERS in stack else []
        named += [
            f"{role} on {', '.join(stack[role])}" for role in (CACHE, LOG, SPECIAL) if role in stack
        ]
        return ", ".join(named)


@dataclass(frozen=True)
class FilesystemGroup:
    """A file system with its variants, and why it cannot be chosen (if it cannot)."""

    spec: Filesystem
    variants: tuple[Variant, ...]
    problems: tuple[str, ...] = ()

    @property
    def is_possible(self) -> bool:
        return not self.problems or any(variant.is_chosen for variant in self.variants)

    @property
    def can_add(self) -> bool:
        return self.spec.is_made and len(self.variants) < MAXIMUM_VARIANTS


def offered_layers() -> list[tuple[str, str]]:
    """(value, words) of the layers that can be chosen."""
    return [
        ("_".join(layer.label for layer in layers), ", then ".join(layer.words for layer in layers))
        for layers in OFFERED_LAYERS
    ]


def pop_stack(texts: dict[str, str], unreadable: dict[str, list[str]]) -> Stack:
    """The stack that is among the texts of a variant, which are taken out of them."""
    names = {key: _names(texts.pop(key, "")) for key in ROLE_KEYS}
    text = texts.pop(LAYERS, "")
    layers = [layer_of_label(word) for word in text.split("_") if word]
    if None in layers:
        why = f'"{text}" is not a list of layers: choose one, or leave it empty.'
        unreadable.setdefault("stacks", [why])
    return Stack(**names, layers=tuple(layer for layer in layers if layer is not None))


def texts_of(stack: Stack) -> dict[str, str]:
    """The inverse."""
    texts = {key: ",".join(getattr(stack, key)) for key in ROLE_KEYS}
    texts[LAYERS] = "_".join(layer.label for layer in stack.layers)
    return {name: text for name, text in texts.items() if text}


def _names(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in text.split(",") if name))
