"""How guests make layers on their LUNs and take them down. Pure: no Django.

``marks`` knows every signature that a layer leaves as fsbench's own. Tried with mdadm 4.2, LVM
2.03.16, cryptsetup 2.6.1 and bcache-tools 1.0.8 under Linux 6.1.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from fsbench_web.catalog.configurations.journals import MIB
from fsbench_web.catalog.configurations.layers import Layer
from fsbench_web.catalog.configurations.options import OptionError
from runner.safety.marks import INTEGRITY_LABEL_AT, OWN_CACHE_UUID, OWN_LABEL, own_volume_uuid

# What waits until an array has written its copies or parity (runner/agent/preparation/resync.py).
RESYNC_PROGRAM = "fsbench-resync"
# What registers and stops a set of bcache, which has no tool for it
# (runner/agent/preparation/bcache.py).
BCACHE_PROGRAM = "fsbench-bcache"
# Of data that is thrown away after each run: it keeps no secret, and costs no time to derive.
_PASSPHRASE = "fsbench"  # noqa: S105
_NO_UDEV = (
    "--config",
    "activation { udev_sync=0 udev_rules=0 monitoring=0 } backup { backup=0 archive=0 }",
)


@dataclass(frozen=True)
class LayerCommands:
    """(arguments, what they read) of what makes layers and takes them down."""

    devices: tuple[str, ...]
    assemble: tuple[tuple[tuple[str, ...], str], ...]
    disassemble: tuple[tuple[tuple[str, ...], str], ...]


def layer_commands(
    layers: Sequence[Layer],
    devices: Sequence[str],
    sizes_bytes: Sequence[int | None],
    caches: Sequence[str] = (),
) -> LayerCommands:
    """The commands of layers over these devices. Raises OptionError where sizes must be known."""
    up: list[tuple[list[str], str]] = []
    down: list[list[list[str]]] = []
    current, sizes = list(devices), list(sizes_bytes)
    for number, layer in enumerate(layers):
        if layer.kind == "md":
            commands, built, taken_down = _md(layer, number, current)
            sizes = [_array_bytes(layer.options["level"], sizes)]
        elif layer.kind == "lvm":
            cache = list(caches) if "cache_mode" in layer.options else []
            commands, built, taken_down = _lvm(layer, number, current, sizes, cache)
            sizes = [None if None in sizes else sum(size or 0 for size in sizes)]
        elif layer.kind == "integrity":
            commands, built, taken_down = _integrity(layer, number, current)
            sizes = [size and int(size * _LEFT_BY_INTEGRITY) for size in sizes]
        elif layer.kind == "bcache":
            commands, built, taken_down = _bcache(layer, current, list(caches))
        else:
            commands, built, taken_down = _luks(layer, number, current)
        up += commands
        down.append(taken_down)
        current = built
    return LayerCommands(
        tuple(current),
        tuple((tuple(argv), stdin) for argv, stdin in up),
        tuple((tuple(argv), "") for commands in down[::-1] for argv in commands),
    )


_Commands = list[tuple[list[str], str]]
_Made = tuple[_Commands, list[str], list[list[str]]]
"""(commands with what they read, the devices made, what takes them down)."""


def _md(layer: Layer, number: int, devices: list[str]) -> _Made:
    array, level = f"/dev/md{number}", layer.options["level"]
    bitmap = [] if level == "raid0" else layer.arguments("bitmap") or ["--bitmap=internal"]
    create = [
        *("mdadm", "--create", array, "--run", "--metadata=1.2"),
        *(f"--homehost={OWN_LABEL}", f"--name={number}"),
        *layer.arguments("level", "chunk_kb"),
        *bitmap,
        *(f"--raid-devices={len(devices)}", *devices),
    ]
    # Copies and parity that are still being written would be measured with the benchmark.
    waits = [] if level == "raid0" else [([RESYNC_PROGRAM, f"md{number}"], "")]
    return [(create, ""), *waits], [array], [["mdadm", "--stop", array], _wipe_command(devices)]


def _array_bytes(level: str, sizes: list[int | None]) -> int | None:
    if None in sizes:
        return None
    known_sizes = [size for size in sizes if size is not None]
    shares = {"raid0": len(known_sizes), "raid1": 1, "raid10": len(known_sizes) // 2}
    return min(known_sizes) * shares.get(level, len(known_sizes) - (1 if level == "raid5" else 2))


def _lvm(
    layer: Layer, number: int, devices: list[str], sizes: list[int | None], caches: list[str]
) -> _Made:
    group, layout = f"{OWN_LABEL}{number}", layer.options["layout"]
    lvcreate = ["lvm", "lvcreate", *_NO_UDEV, "--yes"]
    commands: _Commands = [
        (
            [
                *("lvm", "pvcreate", *_NO_UDEV, "--yes", "-ff", "--norestorefile"),
                *("--uuid", own_volume_uuid(number, place), device),
            ],
            "",
        )
        for place, device in enumerate([*devices, *caches])
    ]
    commands.append((["lvm", "vgcreate", *_NO_UDEV, group, *devices], ""))
    if layout == "thin":
        # 90% leaves room for the pool's metadata and its spare; the volume is smaller than the
        # pool, so that it can be filled.
        chunk = ["--chunksize", *layer.arguments("thin_chunk_kb")]
        pool = [*lvcreate, "--type", "thin-pool", *(chunk if len(chunk) > 1 else [])]
        commands.append(([*pool, *_OF_FREE, "--name", "pool", group], ""))
        if None in sizes:
            raise OptionError("The LUNs' sizes are not known: no thin volume can be made of them.")
        mib = int(sum(size or 0 for size in sizes) * 0.85) // (4 * MIB) * 4
        thin = ["--type", "thin", "--virtualsize", f"{mib}m", "--thinpool", "pool"]
        commands.append(([*lvcreate, *thin, "--name", "data", group], ""))
    else:
        stripes = ["--stripes", str(len(devices))]
        if "stripe_kb" in layer.options:
            stripes += ["--stripesize", *layer.arguments("stripe_kb")]
        flags = [*layer.arguments("layout"), *(stripes if layout == "striped" else [])]
        commands.append(([*lvcreate, *flags, "--extents", "100%FREE", "--name", "data", group], ""))
    if caches:
        pool = [*lvcreate, "--type", "cache-pool", *_OF_FREE, "--name", "fast", group, *caches]
        mode = ["--cachemode", *layer.arguments("cache_mode")]
        convert = ["lvm", "lvconvert", *_NO_UDEV, "--yes", "--type", "cache", *mode]
        commands += [
            (["lvm", "vgextend", *_NO_UDEV, group, *caches], ""),
            (pool, ""),
            ([*convert, "--cachepool", f"{group}/fast", f"{group}/data"], ""),
        ]
    down = [
        ["lvm", "vgchange", *_NO_UDEV, "--activate", "n", group],
        _wipe_command([*devices, *caches]),
    ]
    return commands, [f"/dev/mapper/{group}-data"], down


_OF_FREE = ("--extents", "90%FREE")


def _luks(layer: Layer, number: int, devices: list[str]) -> _Made:
    commands: _Commands = []
    names = [f"{OWN_LABEL}{number}-{place}" for place in range(len(devices))]
    cipher = layer.arguments("cipher") or ["--cipher", "aes-xts-plain64"]
    bits = "256" if layer.options.get("cipher") == "aes-cbc-essiv" else "512"
    key = layer.arguments("key_bits") or ["--key-size", bits]
    for device, name in zip(devices, names, strict=True):
        make = [
            *("cryptsetup", "luksFormat", "--batch-mode", "--type", "luks2"),
            *("--label", OWN_LABEL, *cipher, *key, *layer.arguments("sector_size")),
            # What derives the key is no part of what is measured.
            *("--pbkdf", "pbkdf2", "--pbkdf-force-iterations", "1000", "--key-file", "-", device),
        ]
        opened = [
            *("cryptsetup", "open", "--type", "luks2", *layer.arguments("workqueues")),
            *("--key-file", "-", device, name),
        ]
        commands += [(make, _PASSPHRASE), (opened, _PASSPHRASE)]
    down = [*(["cryptsetup", "close", name] for name in names[::-1]), _wipe_command(devices)]
    return commands, [f"/dev/mapper/{name}" for name in names], down


def _integrity(layer: Layer, number: int, devices: list[str]) -> _Made:
    """Made and labelled, then zeroed: what was never written has no checksum and is unreadable."""
    commands: _Commands = []
    names = [f"{OWN_LABEL}{number}-{place}" for place in range(len(devices))]
    flags = [
        *(layer.arguments("algorithm") or ["--integrity", "crc32c"]),
        *layer.arguments("writes"),
    ]
    for device, name in zip(devices, names, strict=True):
        make = ["integritysetup", "format", "--batch-mode", "--no-wipe", *flags]
        label = ["dd", f"of={device}", "bs=1", f"seek={INTEGRITY_LABEL_AT}", "status=none"]
        commands += [
            ([*make, *layer.arguments("sector_size"), device], ""),
            ([*label, "conv=notrunc,nocreat,fsync"], OWN_LABEL),
            (["integritysetup", "open", *flags, device, name], ""),
            (["blkdiscard", "--force", "--zeroout", f"/dev/mapper/{name}"], ""),
        ]
    down = [*(["integritysetup", "close", name] for name in names[::-1]), _wipe_command(devices)]
    return commands, [f"/dev/mapper/{name}" for name in names], down


# A sector of 512 bytes has at most 32 of checksum, and the journal is at most a 128th
# (dm-integrity.c, DEFAULT_JOURNAL_SIZE_FACTOR).
_LEFT_BY_INTEGRITY = 0.92


def _bcache(layer: Layer, devices: list[str], caches: list[str]) -> _Made:
    """One set for all: its cache, and each device below; make-bcache(8) refuses old signatures."""
    make = ["make-bcache", "--cset-uuid", OWN_CACHE_UUID]
    cache_arguments = [f"--cache={cache}" for cache in caches]
    begin = [
        *(BCACHE_PROGRAM, "start", *cache_arguments, f"--mode={layer.options['cache_mode']}"),
        *layer.arguments("sequential"),
    ]
    commands: _Commands = [
        (_wipe_command([*devices, *caches]), ""),
        *(([*make, *layer.arguments("bucket_kb"), "-C", cache], "") for cache in caches),
        *(([*make, "-B", device], "") for device in devices),
        ([*begin, *devices], ""),
    ]
    down = [
        [BCACHE_PROGRAM, "stop", *cache_arguments, *devices],
        _wipe_command([*devices, *caches]),
    ]
    return commands, [f"/dev/bcache{place}" for place in range(len(devices))], down


def _wipe_command(devices: Sequence[str]) -> list[str]:
    """Not forced: wipefs(8) refuses a device that something still stands on."""
    return ["wipefs", "--all", *devices]
