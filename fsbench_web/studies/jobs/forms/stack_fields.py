"""The stack of a configuration as fields of the job form, and the layers that it offers."""

from collections.abc import Mapping
from dataclasses import dataclass

from fsbench_web.catalog.configurations.layers import Layer, layer_of_label
from fsbench_web.catalog.configurations.stacks import ROLE_KEYS, Stack

# Stand among the options of a variant; no file system has an option of these names.
LUNS, LOG, CACHE, SPECIAL = LISTS = ROLE_KEYS
"""Of which a query may say several, one LUN each."""
LAYERS = "layers"
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


@dataclass(frozen=True)
class StackFields:
    """What is chosen: names of LUNs, and layers as labels have them, ``md-raid1_luks``."""

    luns: tuple[str, ...] = ()
    log: tuple[str, ...] = ()
    cache: tuple[str, ...] = ()
    special: tuple[str, ...] = ()
    layers: str = ""

    @classmethod
    def of(cls, values: Mapping[str, str]) -> "StackFields":
        """Of the texts of a variant."""
        luns, log, cache, special = (_names(values.get(key, "")) for key in LISTS)
        return cls(luns, log, cache, special, values.get(LAYERS, ""))

    def __bool__(self) -> bool:
        return self != NONE

    @property
    def in_words(self) -> list[str]:
        """What is chosen, in words."""
        parts = [f"over {', '.join(self.luns)} too"] if self.luns else []
        parts += [f"layers {self.layers}"] if self.layers else []
        for role in (CACHE, LOG, SPECIAL):
            names = getattr(self, role)
            parts += [f"{role} on {', '.join(names)}"] if names else []
        return parts


NONE = StackFields()


def offered() -> list[tuple[str, str]]:
    """(value, words) of the layers that can be chosen."""
    return [
        ("_".join(layer.label for layer in layers), ", then ".join(layer.words for layer in layers))
        for layers in OFFERED_LAYERS
    ]


def pop_stack(options: dict[str, str], unreadable: dict[str, list[str]]) -> Stack:
    """The stack that is among the texts of a variant, which are taken out of them."""
    fields = StackFields.of(options)
    for name in (*LISTS, LAYERS):
        options.pop(name, None)
    layers = [layer_of_label(word) for word in fields.layers.split("_") if word]
    if None in layers:
        why = f'"{fields.layers}" is no list of layers: choose one, or leave it empty.'
        unreadable.setdefault("stacks", [why])
    return Stack(
        luns=fields.luns,
        log=fields.log,
        cache=fields.cache,
        special=fields.special,
        layers=tuple(layer for layer in layers if layer is not None),
    )


def texts_of(stack: Stack) -> dict[str, str]:
    """The inverse."""
    names = (stack.luns, stack.log, stack.cache, stack.special)
    values = {key: ",".join(luns) for key, luns in zip(LISTS, names, strict=True)}
    values[LAYERS] = "_".join(layer.label for layer in stack.layers)
    return {name: text for name, text in values.items() if text}


def _names(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in text.split(",") if name))
