"""The layers between LUNs and a file system, and their options. Pure: no Django.

A layer takes the devices below it and gives those that stand on it: md and LVM one of all, the
others one of each. ``commands.layers`` makes them and takes them down. Sources: mdadm(8), md(4),
lvcreate(8), lvmthin(7), lvmcache(7), cryptsetup(8), integritysetup(8), make-bcache(8) and of Linux
Documentation/admin-guide/device-mapper/dm-integrity.rst, Documentation/admin-guide/bcache.rst.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from fsbench_web.catalog.configurations.options import (
    PROFILE_LEAST_LUNS,
    Option,
    OptionError,
    arguments_of,
)


@dataclass(frozen=True)
class LayerKind:
    """``required`` options have no default; ``modules`` are the kernel's by value ("": always)."""

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
        for option in self.options:
            if option.key == key:
                return option
        raise OptionError(
            f'The layer {self.slug} has no option "{key}"; it has '
            f"{', '.join(option.key for option in self.options)}."
        )


_SECTOR_SIZE = Option(
    *("sector_size", "layer", "Sector size (bytes)", "--sector-size {}", "s{}"),
    ("512", "4096"),
    "Default: that of the LUN, or 4096 where it says so",
)
_WAITS = "writes wait for the slow LUNs"
_WAITS_FOR_CACHE = "writes wait for the cache alone"
_ON_CACHE = "On the LUN with the role cache"
_CHUNKS = ("4", "16", "64", "128", "256", "512", "1024")
_RAID456 = ("raid456",)
_DM_CACHE = ("dm_cache", "dm_cache_smq")

LAYERS: dict[str, LayerKind] = {
    kind.slug: kind
    for kind in (
        LayerKind(
            *("md", "md", "md"),
            (
                Option(
                    *("level", "layer", "RAID level", "--level={}", "{}"),
                    ("raid0", "raid1", "raid10", "raid5", "raid6"),
                ),
                Option(
                    *("chunk_kb", "layer", "Chunk (KB)", "--chunk={}", "c{}"),
                    _CHUNKS,
                    "Default: 512",
                ),
                Option(
                    *("bitmap", "layer", "Write-intent bitmap", "--bitmap={}", ""),
                    (
                        ("internal", "bitmap", "the default here"),
                        ("none", "nobitmap", "a crash means a resync of the whole array"),
                    ),
                ),
            ),
            *(("mdadm",), "mdadm"),
            {
                **{"": ("md_mod",), "raid0": ("raid0",), "raid1": ("raid1",)},
                **{"raid10": ("raid10",), "raid5": _RAID456, "raid6": _RAID456},
            },
            ("level",),
        ),
        LayerKind(
            *("lvm", "LVM", "lvm"),
            (
                Option(
                    *("layout", "layer", "Layout", "--type {}", "{}"),
                    (
                        ("linear", "", "one LUN after the other"),
                        "striped",
                        ("thin", "", "a thin volume in a pool of all LUNs"),
                    ),
                ),
                Option(
                    *("stripe_kb", "layer", "Stripe (KB)", "{}k", "s{}"), _CHUNKS, "Default: 64"
                ),
                Option(
                    *("thin_chunk_kb", "layer", "Chunk of a thin pool (KB)", "{}k", "t{}"),
                    _CHUNKS[2:],
                    "Default: 64, more for a large pool",
                ),
                Option(
                    *("cache_mode", "layer", "Cache", "{}", "{}"),
                    (("writethrough", "", _WAITS), ("writeback", "", _WAITS_FOR_CACHE)),
                    _ON_CACHE,
                ),
            ),
            *(("lvm", "thin_check", "cache_check"), "lvm2"),
            {
                **{"": ("dm_mod",), "thin": ("dm_thin_pool",)},
                **{"writethrough": _DM_CACHE, "writeback": _DM_CACHE},
            },
            ("layout",),
        ),
        LayerKind(
            *("luks", "dm-crypt (LUKS2)", "luks"),
            (
                Option(
                    *("cipher", "layer", "Cipher"),
                    values=(
                        ("aes-xts", "xts", "the default", "--cipher aes-xts-plain64"),
                        ("aes-cbc-essiv", "cbc", "before 2013", "--cipher aes-cbc-essiv:sha256"),
                    ),
                ),
                Option(
                    *("key_bits", "layer", "Key (bits)", "--key-size {}", "k{}"),
                    ("256", "512"),
                    "XTS splits it in two: 512 is AES-256. Default: 512, of CBC 256",
                ),
                _SECTOR_SIZE,
                Option(
                    *("workqueues", "layer", "Queues of dm-crypt"),
                    *("--perf-no_read_workqueue --perf-no_write_workqueue", "nowq"),
                    (("off", "", "encrypted where it is submitted; Linux 5.9 and newer"),),
                ),
            ),
            *(("cryptsetup",), "cryptsetup-bin"),
            {"": ("dm_crypt", "xts", "algif_skcipher"), "aes-cbc-essiv": ("cbc", "essiv")},
        ),
        LayerKind(
            *("integrity", "dm-integrity", "integrity"),
            (
                Option(
                    *("algorithm", "layer", "Checksum", "--integrity {}", "{}"),
                    (
                        ("crc32c", "", "4 bytes of each sector; the default"),
                        ("sha256", "", "32 bytes of each sector"),
                    ),
                ),
                Option(
                    *("writes", "layer", "Writes", "", "{}"),
                    (
                        ("journal", "", "all data twice, with their checksums; the default"),
                        ("bitmap", "", "a crash means recalculation", "--integrity-bitmap-mode"),
                        (
                            *("direct", "nojournal", "a crash leaves wrong checksums"),
                            "--integrity-no-journal",
                        ),
                    ),
                ),
                _SECTOR_SIZE,
            ),
            *(("integritysetup",), "cryptsetup-bin"),
            {"": ("dm_integrity",)},
        ),
        LayerKind(
            *("bcache", "bcache", "bcache"),
            (
                Option(
                    *("cache_mode", "layer", "Cache", "", "{}"),
                    (
                        ("writethrough", "", _WAITS),
                        ("writeback", "", _WAITS_FOR_CACHE),
                        ("writearound", "", "reads alone are cached"),
                    ),
                    _ON_CACHE,
                ),
                Option(
                    *("bucket_kb", "layer", "Bucket of the cache (KB)", "--bucket {}k", "b{}"),
                    ("64", "256", "512", "1024", "2048"),
                    "Default: 512",
                ),
                Option(
                    *("sequential", "layer", "Sequential requests", "--sequential-cutoff=0"),
                    "sequential",
                    (("cached", "", "cached too"),),
                    "Default: what is longer than 4 MiB passes the cache",
                ),
            ),
            *(("make-bcache",), "bcache-tools"),
            {"": ("bcache",)},
            ("cache_mode",),
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
    def of(cls, data: Mapping[str, object]) -> "Layer":
        """From ``{"layer": "md", "level": "raid1"}``. Raises OptionError."""
        slug = data.get("layer")
        if not isinstance(slug, str) or slug not in LAYERS:
            raise OptionError(f'"{slug}" is not a layer: write one of {", ".join(LAYERS)}.')
        kind = LAYERS[slug]
        for key in data:
            if key != "layer":
                kind.option(key)
        options = {
            option.key: option.choice(as_text(data[option.key])).value
            for option in kind.options
            if data.get(option.key) not in (None, "", "default")
        }
        for key in kind.required:
            if key not in options:
                choices = ", ".join(choice.value for choice in kind.option(key).choices)
                raise OptionError(f"The layer {slug} needs its {key}: one of {choices}.")
        return cls(slug, options)

    def stored(self) -> dict[str, str]:
        return {"layer": self.kind, **self.options}

    @property
    def label(self) -> str:
        """``md-raid1-c64``: the part of a configuration's label."""
        kind = LAYERS[self.kind]
        chosen = [option for option in kind.options if option.key in self.options]
        labels = (option.choice(self.options[option.key]).label for option in chosen)
        return "-".join([kind.word, *labels])

    @property
    def words(self) -> str:
        """For people: "md raid1, chunk (KB) 64"."""
        kind = LAYERS[self.kind]
        parts = [
            value if key in kind.required else f"{_lower(kind.option(key).name)} {value}"
            for key, value in self.options.items()
        ]
        return " ".join([kind.name, ", ".join(parts)]).strip()

    @property
    def modules(self) -> list[str]:
        needed = LAYERS[self.kind].modules
        return [name for key in ("", *self.options.values()) for name in needed.get(key, ())]

    def arguments(self, *keys: str) -> list[str]:
        """What the options named add to a command."""
        options = [LAYERS[self.kind].option(key) for key in keys if key in self.options]
        return arguments_of(options, self.options, "layer")


def _lower(name: str) -> str:
    return name[:1].lower() + name[1:]


def as_text(value: object) -> object:
    """Numbers as the text they are on lists of options; ``512`` and ``"512"`` are the same."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def programs_of(layers: Iterable[Layer]) -> list[str]:
    """The programs that make these layers, each once."""
    return list(dict.fromkeys(name for layer in layers for name in LAYERS[layer.kind].programs))


def layer_modules() -> set[str]:
    """Every module of a kernel that some layer needs."""
    return {name for kind in LAYERS.values() for names in kind.modules.values() for name in names}


def layer_of_label(word: str) -> Layer | None:
    """What a part of a label says, None where it says no layer."""
    first, *rest = word.split("-")
    kind = next((candidate for candidate in LAYERS.values() if candidate.word == first), None)
    if kind is None:
        return None
    options: dict[str, str] = {}
    for part in rest:
        matches = [
            (option.key, choice.value)
            for option in kind.options
            for choice in option.choices
            if choice.label == part and option.key not in options
        ]
        if len(matches) != 1:
            return None
        options[matches[0][0]] = matches[0][1]
    try:
        layer = Layer.of({"layer": kind.slug, **options})
    except OptionError:
        return None
    return layer if layer.label == word else None


def has_cache(layers: Sequence[Layer]) -> bool:
    """Whether one of them uses the LUNs for a cache."""
    return any("cache_mode" in layer.options for layer in layers)


def conflicts(
    layers: Sequence[Layer], data: int, caches: int, takes_cache: bool = False
) -> Iterator[str]:
    """Why these layers cannot stand on so many LUNs; ``takes_cache``: the file system does."""
    count = data
    for layer in layers:
        if layer.kind == "md":
            yield from _md_conflicts(layer.options, count)
            count = 1
        elif layer.kind == "lvm":
            yield from _lvm_conflicts(layer.options, count, caches)
            count = 1
        elif layer.kind == "bcache":
            if caches != 1:
                yield f"bcache has one LUN with the role cache, and here there are {caches}."
        elif (layer.options.get("cipher"), layer.options.get("key_bits")) == (
            "aes-cbc-essiv",
            "512",
        ):
            yield "AES-CBC has a key of 256 bits at most."
    cached = sum("cache_mode" in layer.options for layer in layers)
    if cached > 1:
        yield "Two layers of one stack cannot have the same cache."
    if caches and not cached and not takes_cache:
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


def least_cache_bytes(layers: Sequence[Layer]) -> int:
    """How large a cache's LUN must be: Linux refuses bcache with 512 buckets or less (super.c)."""
    buckets_kb = [
        int(layer.options.get("bucket_kb", _USUAL_BUCKET_KB))
        for layer in layers
        if layer.kind == "bcache"
    ]
    return max((513 * kb * 1024 for kb in buckets_kb), default=0)


_USUAL_BUCKET_KB = 512  # make-bcache(8)


def remaining_devices(layers: Sequence[Layer], data: int) -> int:
    """How many devices a file system on these layers is made over."""
    return 1 if any(layer.kind in ("md", "lvm") for layer in layers) else data
