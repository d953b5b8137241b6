"""The layers between LUNs and a file system, and their options.

Pure: no Django. A layer takes the devices below it and gives those that stand on it: md and LVM one
of all, encryption one of each. ``layer_commands`` makes them and takes them down. Sources:
mdadm(8), md(4), lvcreate(8), lvmthin(7), lvmcache(7), cryptsetup(8).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from fsbench_web.catalog.configurations.options import (
    PROFILE_LEAST_LUNS,
    Choice,
    Option,
    OptionError,
)


def _sizes_kb(template: str, sizes: Sequence[int], label: str) -> tuple[Choice, ...]:
    return tuple(Choice(str(kb), (template.format(kb),), f"{label}{kb}") for kb in sizes)


_LEVELS = ("raid0", "raid1", "raid10", "raid5", "raid6")
LEVEL = Option(
    "level", "layer", "RAID level", tuple(Choice(one, (f"--level={one}",), one) for one in _LEVELS)
)
CHUNK = Option(
    "chunk_kb",
    "layer",
    "Chunk (KB)",
    _sizes_kb("--chunk={}", (4, 16, 64, 128, 256, 512, 1024), "c"),
    help="Default: 512",
)
BITMAP = Option(
    "bitmap",
    "layer",
    "Write-intent bitmap",
    (
        Choice("internal", ("--bitmap=internal",), "bitmap", "the default here"),
        Choice("none", ("--bitmap=none",), "nobitmap", "a crash means a resync of the whole array"),
    ),
)
LAYOUT = Option(
    "layout",
    "layer",
    "Layout",
    (
        Choice("linear", ("--type", "linear"), "linear", "one LUN after the other"),
        Choice("striped", ("--type", "striped"), "striped"),
        Choice("thin", ("--type", "thin"), "thin", "a thin volume in a pool of all LUNs"),
    ),
)
STRIPE = Option(
    "stripe_kb",
    "layer",
    "Stripe (KB)",
    _sizes_kb("{}k", (4, 16, 64, 128, 256, 512, 1024), "s"),
    help="Default: 64",
)
THIN_CHUNK = Option(
    "thin_chunk_kb",
    "layer",
    "Chunk of a thin pool (KB)",
    _sizes_kb("{}k", (64, 128, 256, 512, 1024), "t"),
    help="Default: 64, more for a large pool",
)
CACHE_MODE = Option(
    "cache_mode",
    "layer",
    "Cache",
    (
        Choice("writethrough", ("writethrough",), "writethrough", "writes wait for the slow LUNs"),
        Choice("writeback", ("writeback",), "writeback", "writes wait for the cache alone"),
    ),
    help="On the LUN with the role cache",
)
CIPHER = Option(
    "cipher",
    "layer",
    "Cipher",
    (
        Choice("aes-xts", ("--cipher", "aes-xts-plain64"), "xts", "the default"),
        Choice("aes-cbc-essiv", ("--cipher", "aes-cbc-essiv:sha256"), "cbc", "before 2013"),
    ),
)
KEY_BITS = Option(
    "key_bits",
    "layer",
    "Key (bits)",
    tuple(Choice(bits, ("--key-size", bits), f"k{bits}") for bits in ("256", "512")),
    help="XTS splits it in two: 512 is AES-256. Default: 512, of CBC 256",
)
SECTOR_SIZE = Option(
    "sector_size",
    "layer",
    "Sector size (bytes)",
    tuple(Choice(size, ("--sector-size", size), f"s{size}") for size in ("512", "4096")),
    help="Default: that of the LUN, or 4096 where it says so",
)
WORKQUEUES = Option(
    "workqueues",
    "layer",
    "Queues of dm-crypt",
    (
        Choice(
            "off",
            ("--perf-no_read_workqueue", "--perf-no_write_workqueue"),
            "nowq",
            "encrypted where it is submitted; Linux 5.9 and newer",
        ),
    ),
)


@dataclass(frozen=True)
class LayerKind:
    """``word`` begins its part of a label. ``required`` are options without a default; ``modules``
    those of the kernel, by the value of the option that needs them ("": always).
    """

    slug: str
    name: str
    word: str
    options: tuple[Option, ...]
    programs: tuple[str, ...]
    package: str
    modules: Mapping[str, tuple[str, ...]]
    required: tuple[str, ...] = ()

    def option(self, key: str) -> Option:
        """Raises OptionError with the options there are."""
        for one in self.options:
            if one.key == key:
                return one
        raise OptionError(
            f'The layer {self.slug} has no option "{key}"; it has '
            f"{', '.join(one.key for one in self.options)}."
        )


LAYERS: dict[str, LayerKind] = {
    one.slug: one
    for one in (
        LayerKind(
            "md",
            "md",
            "md",
            (LEVEL, CHUNK, BITMAP),
            ("mdadm",),
            "mdadm",
            {
                "": ("md_mod",),
                "raid0": ("raid0",),
                "raid1": ("raid1",),
                "raid10": ("raid10",),
                "raid5": ("raid456",),
                "raid6": ("raid456",),
            },
            ("level",),
        ),
        LayerKind(
            "lvm",
            "LVM",
            "lvm",
            (LAYOUT, STRIPE, THIN_CHUNK, CACHE_MODE),
            ("lvm", "thin_check", "cache_check"),
            "lvm2",
            {
                "": ("dm_mod",),
                "thin": ("dm_thin_pool",),
                "writethrough": ("dm_cache", "dm_cache_smq"),
                "writeback": ("dm_cache", "dm_cache_smq"),
            },
            ("layout",),
        ),
        LayerKind(
            "luks",
            "dm-crypt (LUKS2)",
            "luks",
            (CIPHER, KEY_BITS, SECTOR_SIZE, WORKQUEUES),
            ("cryptsetup",),
            "cryptsetup-bin",
            {
                "": ("dm_crypt", "xts", "algif_skcipher"),
                "aes-cbc-essiv": ("cbc", "essiv"),
            },
        ),
    )
}
# As fast ciphers as the processor has, where they are modules: not needed, but what is measured.
QUICKER_MODULES = ("aesni_intel", "sha256_ssse3")


@dataclass(frozen=True)
class Layer:
    """One layer with its options in canonical form."""

    kind: str
    options: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, said: Mapping[str, object]) -> "Layer":
        """From ``{"layer": "md", "level": "raid1"}``. Raises OptionError."""
        slug = said.get("layer")
        if not isinstance(slug, str) or slug not in LAYERS:
            raise OptionError(f'"{slug}" is no layer: write one of {", ".join(LAYERS)}.')
        kind = LAYERS[slug]
        for key in said:
            if key != "layer":
                kind.option(key)
        given = {
            one.key: one.choice(as_text(said[one.key])).value
            for one in kind.options
            if said.get(one.key) not in (None, "", "default")
        }
        for key in kind.required:
            if key not in given:
                choices = ", ".join(one.value for one in kind.option(key).choices)
                raise OptionError(f"The layer {slug} needs its {key}: one of {choices}.")
        return cls(slug, given)

    def stored(self) -> dict[str, str]:
        return {"layer": self.kind, **self.options}

    @property
    def label(self) -> str:
        """``md-raid1-c64``: the part of a configuration's label."""
        kind = LAYERS[self.kind]
        return "-".join([kind.word, *(choice.label for choice in self._choices())])

    @property
    def words(self) -> str:
        """For people: "md raid1, chunk (KB) 64"."""
        kind = LAYERS[self.kind]
        said = [
            value if key in kind.required else f"{_lower(kind.option(key).name)} {value}"
            for key, value in self.options.items()
        ]
        return " ".join([kind.name, ", ".join(said)]).strip()

    @property
    def modules(self) -> list[str]:
        """The kernel's modules that it needs."""
        needed = LAYERS[self.kind].modules
        return [name for key in ("", *self.options.values()) for name in needed.get(key, ())]

    def _choices(self) -> list[Choice]:
        kind = LAYERS[self.kind]
        return [
            one.choice(self.options[one.key]) for one in kind.options if one.key in self.options
        ]

    def arguments(self, *keys: str) -> list[str]:
        """What the options named add to a command."""
        kind = LAYERS[self.kind]
        return [
            argument
            for key in keys
            if key in self.options
            for argument in kind.option(key).choice(self.options[key]).arguments
        ]


def _lower(name: str) -> str:
    return name[:1].lower() + name[1:]


def as_text(value: object) -> object:
    """Numbers as the text they are on lists of options; ``512`` and ``"512"`` are the same."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def programs_of(layers: Iterable[Layer]) -> list[str]:
    """The programs that make these layers, each once."""
    return list(dict.fromkeys(name for one in layers for name in LAYERS[one.kind].programs))


def layer_modules() -> set[str]:
    """Every module of a kernel that some layer needs."""
    return {name for one in LAYERS.values() for names in one.modules.values() for name in names}


def layer_of_label(word: str) -> Layer | None:
    """What a part of a label says, None where it says no layer."""
    first, *rest = word.split("-")
    kind = next((one for one in LAYERS.values() if one.word == first), None)
    if kind is None:
        return None
    options: dict[str, str] = {}
    for part in rest:
        found = [
            (option.key, choice.value)
            for option in kind.options
            for choice in option.choices
            if choice.label == part and option.key not in options
        ]
        if len(found) != 1:
            return None
        options[found[0][0]] = found[0][1]
    try:
        layer = Layer.of({"layer": kind.slug, **options})
    except OptionError:
        return None
    return layer if layer.label == word else None


def conflicts(layers: Sequence[Layer], data: int, caches: int) -> Iterator[str]:
    """Why these layers cannot stand on so many LUNs for data and for a cache."""
    count = data
    for layer in layers:
        if layer.kind == "md":
            yield from _md_conflicts(layer.options, count)
            count = 1
        elif layer.kind == "lvm":
            yield from _lvm_conflicts(layer.options, count, caches)
            count = 1
        elif (layer.options.get("cipher"), layer.options.get("key_bits")) == (
            "aes-cbc-essiv",
            "512",
        ):
            yield "AES-CBC has a key of 256 bits at most."
    cached = sum("cache_mode" in layer.options for layer in layers)
    if cached > 1:
        yield "Two LVM layers of one stack cannot have the same cache."
    if caches and not cached:
        yield "Nothing in this stack uses a LUN for the cache: leave it out."


def _md_conflicts(options: Mapping[str, str], count: int) -> Iterator[str]:
    level = options["level"]
    least = PROFILE_LEAST_LUNS[level]
    if count < least:
        yield f"md {level} is made of {least} devices or more, and here of {count}."
    if level == "raid1" and "chunk_kb" in options:
        yield "md raid1 has no chunks: leave chunk_kb out."
    if level == "raid0" and "bitmap" in options:
        yield "md raid0 has no bitmap: leave it out."


def _lvm_conflicts(options: Mapping[str, str], count: int, caches: int) -> Iterator[str]:
    layout = options["layout"]
    if layout == "striped" and count < 2:
        yield "A striped LVM volume is made of 2 devices or more."
    if layout != "striped" and "stripe_kb" in options:
        yield f"A {layout} LVM volume has no stripes: leave stripe_kb out."
    if layout != "thin" and "thin_chunk_kb" in options:
        yield f"A {layout} LVM volume is in no thin pool: leave thin_chunk_kb out."
    if "cache_mode" in options and layout == "thin":
        yield "A thin LVM volume is not cached here: choose linear or striped."
    if "cache_mode" in options and not caches:
        yield "An LVM cache needs a LUN with the role cache."


def devices_left(layers: Sequence[Layer], data: int) -> int:
    """How many devices a file system on these layers is made over."""
    return 1 if any(one.kind in ("md", "lvm") for one in layers) else data
