"""The file systems fsbench can make, and the options it allows for each. Pure: no Django.

Options are keys and values from closed lists. A command line is always built from them here, as a
list of arguments; no text of a user ever becomes part of one. Sources: mke2fs(8), ext4(5),
mkfs.xfs(8), xfs(5), mkfs.btrfs(8), btrfs(5).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

MIB = 1024 * 1024
# Every file system made here carries this label, so that the worker knows its own work from a
# stranger's data before it erases a LUN (runner.luns).
OWN_LABEL = "fsbench"


class OptionError(ValueError):
    """An option or value outside the allow-list; the text tells the user what is allowed."""


@dataclass(frozen=True)
class Choice:
    """One allowed value: what it adds to the command, and to the configuration's label."""

    value: str
    arguments: tuple[str, ...]
    label: str
    help: str = ""


@dataclass(frozen=True)
class Option:
    """One tuning dimension. ``stage`` is mkfs or mount.

    Either ``choices`` lists all values, or ``minimum`` and ``maximum`` bound a whole number which
    replaces ``{}`` in ``template`` and ``label_template``. An option that is not given is left to
    the tool's default.
    """

    key: str
    stage: str
    name: str
    choices: tuple[Choice, ...] = ()
    minimum: int | None = None
    maximum: int | None = None
    template: str = ""
    label_template: str = ""
    help: str = ""

    def choice(self, value: object) -> Choice:
        """The allowed choice for ``value``. Raises OptionError with what is allowed."""
        if self.choices:
            for choice in self.choices:
                if choice.value == value:
                    return choice
            allowed = ", ".join(choice.value for choice in self.choices)
            raise OptionError(f'{self.name}: "{value}" is not one of {allowed}.')
        bounds = f"{self.name}: a whole number from {self.minimum} to {self.maximum} is allowed"
        if isinstance(value, bool) or not isinstance(value, int | str):
            raise OptionError(f'{bounds}, not "{value}".')
        text = str(value)
        # Digits of other scripts are numbers to int(), and would reach a command line.
        if not (text.isascii() and text.isdigit() and len(text) <= 12):
            raise OptionError(f'{bounds}, not "{text[:40]}".')
        number = int(text)
        assert self.minimum is not None
        assert self.maximum is not None
        if not self.minimum <= number <= self.maximum:
            raise OptionError(f"{bounds}, not {number}.")
        return Choice(
            value=str(number),
            arguments=(self.template.format(number),),
            label=self.label_template.format(number),
        )


@dataclass(frozen=True)
class Filesystem:
    """A file system that a worker may make on a LUN.

    ``mkfs`` is the fixed part of the command; ``mkfs_joined`` names the flag whose arguments are
    joined with commas (``-E``, ``-O``). ``minimum_bytes`` is the smallest LUN its tools accept.
    """

    slug: str
    name: str
    mkfs: tuple[str, ...]
    tool_package: str
    minimum_bytes: int
    options: tuple[Option, ...] = ()
    mount_type: str = ""
    notes: str = ""
    aliases: tuple[str, ...] = field(default=())

    def option(self, key: str) -> Option:
        """The option named ``key``. Raises OptionError with the keys there are."""
        for option in self.options:
            if option.key == key:
                return option
        allowed = ", ".join(option.key for option in self.options)
        raise OptionError(f'{self.name} has no option "{key}"; it has {allowed}.')


def _mount(value: str, label: str, help: str = "") -> Choice:
    return Choice(value, (value,), label, help)


ATIME = Option(
    "atime",
    "mount",
    "Access times",
    (
        _mount("noatime", "noatime", "never written"),
        _mount("nodiratime", "nodiratime", "not written for directories"),
        _mount("strictatime", "strictatime", "written at every read, as kernels before 2.6.30 did"),
    ),
    help="Default: relatime, at most one write a day",
)
JOURNAL_MODE = Option(
    "journal_mode",
    "mount",
    "Journal mode",
    (
        Choice("ordered", ("data=ordered",), "ordered", "data before its metadata; the default"),
        Choice("writeback", ("data=writeback",), "wb", "only metadata is journalled"),
        Choice("journal", ("data=journal",), "journal", "data too goes through the journal"),
    ),
)
BARRIER = Option(
    "barrier",
    "mount",
    "Write barriers",
    (Choice("off", ("barrier=0",), "nobarrier", "unsafe without a protected write cache"),),
)
EXT_BLOCK_SIZE = Option(
    "block_size",
    "mkfs",
    "Block size (bytes)",
    tuple(Choice(size, ("-b", size), f"b{size}") for size in ("1024", "2048", "4096")),
)
DIR_INDEX = Option(
    "dir_index",
    "mkfs",
    "Directory index",
    (
        Choice("on", ("-O", "dir_index"), "dirindex"),
        Choice("off", ("-O", "^dir_index"), "nodirindex"),
    ),
)
EXT_JOURNAL_SIZE = Option(
    "journal_size_mb",
    "mkfs",
    "Journal size (MB)",
    minimum=4,
    maximum=1024,
    template="-Jsize={}",
    label_template="j{}m",
)
INODE_SIZE = Option(
    "inode_size",
    "mkfs",
    "Inode size (bytes)",
    tuple(Choice(size, ("-I", size), f"i{size}") for size in ("128", "256", "512")),
)
# -F: the LUN is a whole device, not a partition. Lazy initialisation would write in the
# background while the benchmark runs, so everything is written by mkfs (mke2fs(8), -E).
_EXT_BASE = ("-q", "-F", "-L", OWN_LABEL, "-E", "lazy_itable_init=0")
_EXT_JOURNAL_BASE = (
    *("-q", "-F", "-L", OWN_LABEL),
    *("-E", "lazy_itable_init=0,lazy_journal_init=0"),
)

FILESYSTEMS: dict[str, Filesystem] = {
    filesystem.slug: filesystem
    for filesystem in (
        Filesystem(
            "ext2",
            "ext2",
            ("mkfs.ext2", *_EXT_BASE),
            "e2fsprogs",
            4 * MIB,
            (EXT_BLOCK_SIZE, INODE_SIZE, DIR_INDEX, ATIME),
            notes="No journal: the high-water mark of the paper",
        ),
        Filesystem(
            "ext3",
            "ext3",
            ("mkfs.ext3", *_EXT_JOURNAL_BASE),
            "e2fsprogs",
            16 * MIB,
            (EXT_BLOCK_SIZE, INODE_SIZE, DIR_INDEX, EXT_JOURNAL_SIZE, JOURNAL_MODE, ATIME, BARRIER),
        ),
        Filesystem(
            "ext4",
            "ext4",
            ("mkfs.ext4", *_EXT_JOURNAL_BASE),
            "e2fsprogs",
            16 * MIB,
            (EXT_BLOCK_SIZE, INODE_SIZE, DIR_INDEX, EXT_JOURNAL_SIZE, JOURNAL_MODE, ATIME, BARRIER),
        ),
        Filesystem(
            "xfs",
            "XFS",
            ("mkfs.xfs", "-q", "-f", "-L", OWN_LABEL),
            "xfsprogs",
            300 * MIB,
            (
                Option(
                    "agcount",
                    "mkfs",
                    "Allocation groups",
                    minimum=2,
                    maximum=512,
                    template="-dagcount={}",
                    label_template="ag{}",
                    help="Each group must be 16 MB or more",
                ),
                Option(
                    "logbufs",
                    "mount",
                    "Log buffers",
                    minimum=2,
                    maximum=8,
                    template="logbufs={}",
                    label_template="lb{}",
                ),
                ATIME,
            ),
        ),
        Filesystem(
            "btrfs",
            "Btrfs",
            ("mkfs.btrfs", "-q", "-f", "-L", OWN_LABEL),
            "btrfs-progs",
            128 * MIB,
            (
                Option(
                    "node_size",
                    "mkfs",
                    "Node size (bytes)",
                    tuple(Choice(s, ("-n", s), f"n{s}") for s in ("4096", "16384", "65536")),
                ),
                Option(
                    "compression",
                    "mount",
                    "Compression",
                    (
                        Choice("lzo", ("compress=lzo",), "lzo"),
                        Choice("zlib", ("compress=zlib",), "zlib"),
                        Choice("zstd", ("compress=zstd",), "zstd"),
                    ),
                    help="Benchmark data that compresses well measures the CPU, not the disk",
                ),
                Option(
                    "copy_on_write",
                    "mount",
                    "Copy on write",
                    (Choice("off", ("nodatacow",), "nocow", "no checksums of data either"),),
                ),
                ATIME,
            ),
        ),
    )
}

# What sysfs calls them now, and the short label of the paper's ancestor where there is one
# (noop -> none, deadline -> mq-deadline, cfq -> bfq; anticipatory has no successor).
SCHEDULER_LABELS = {
    "none": "noop",
    "mq-deadline": "dl",
    "kyber": "kyber",
    "bfq": "bfq",
    "noop": "noop",
    "deadline": "dl",
    "cfq": "cfq",
    "anticipatory": "as",
}


def filesystem(slug: str) -> Filesystem:
    """The file system named ``slug``. Raises OptionError with the names there are."""
    try:
        return FILESYSTEMS[slug]
    except KeyError:
        raise OptionError(
            f'fsbench cannot make a file system "{slug}"; it can make {", ".join(FILESYSTEMS)}.'
        ) from None


def validated_options(slug: str, options: Mapping[str, object]) -> dict[str, str]:
    """The options with every value as its canonical text, in the order of the file system's list.

    Empty values mean "the tool's default" and are dropped. Raises OptionError for a key or value
    that is not allowed.
    """
    spec = filesystem(slug)
    for key in options:
        spec.option(key)
    return {
        option.key: option.choice(options[option.key]).value
        for option in spec.options
        if options.get(option.key) not in (None, "")
    }


def mkfs_command(slug: str, options: Mapping[str, object], device: str) -> list[str]:
    """The arguments that make the file system on ``device`` and erase what was there."""
    spec = filesystem(slug)
    arguments = [
        argument
        for option in spec.options
        if option.stage == "mkfs" and option.key in options
        for argument in option.choice(options[option.key]).arguments
    ]
    return [*spec.mkfs, *arguments, device]


def mount_command(
    slug: str, options: Mapping[str, object], device: str, mount_point: str
) -> list[str]:
    """The arguments that mount ``device``."""
    spec = filesystem(slug)
    words = [
        argument
        for option in spec.options
        if option.stage == "mount" and option.key in options
        for argument in option.choice(options[option.key]).arguments
    ]
    flags = ["-o", ",".join(words)] if words else []
    return ["mount", "-t", spec.mount_type or spec.slug, *flags, device, mount_point]
