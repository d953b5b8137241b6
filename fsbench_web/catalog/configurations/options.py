"""What an option of a file system is, and the options that several have. Pure: no Django.

Sources: mke2fs(8), ext4(5), mount(8) for reiserfs.
"""

from dataclasses import dataclass


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
    the tool's default. One that ``is_joined`` stands in labels with the file system's name: nfs4.2.
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
    is_joined: bool = False

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


def mount_choice(value: str, label: str, help: str = "") -> Choice:
    """A value that is the mount option itself (several with commas)."""
    return Choice(value, tuple(value.split(",")), label, help)


ATIME = Option(
    "atime",
    "mount",
    "Access times",
    (
        mount_choice("noatime", "noatime", "never written"),
        mount_choice("nodiratime", "nodiratime", "not written for directories"),
        # noatime says it all since Linux 2.6.30, but older studies give both (Hilzinger 2006).
        mount_choice("noatime,nodiratime", "noatime-nodiratime", "both, as older studies wrote it"),
        mount_choice(
            "strictatime", "strictatime", "written at every read, as kernels before 2.6.30 did"
        ),
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
    "Journal size (MiB)",
    minimum=4,
    maximum=1024,
    template="-Jsize={}",
    label_template="j{}m",
    help="Of a journal on the LUN itself",
)
INODE_SIZE = Option(
    "inode_size",
    "mkfs",
    "Inode size (bytes)",
    tuple(Choice(size, ("-I", size), f"i{size}") for size in ("128", "256", "512")),
)
AGCOUNT = Option(
    "agcount",
    "mkfs",
    "Allocation groups",
    minimum=2,
    maximum=512,
    template="-dagcount={}",
    label_template="ag{}",
    help="Each group must be 16 MiB or more",
)
LOGBUFS = Option(
    "logbufs",
    "mount",
    "Log buffers",
    minimum=2,
    maximum=8,
    template="logbufs={}",
    label_template="lb{}",
)
BTRFS_NODE_SIZE = Option(
    "node_size",
    "mkfs",
    "Node size (bytes)",
    tuple(Choice(size, ("-n", size), f"n{size}") for size in ("4096", "16384", "65536")),
)
# mkfs.btrfs(8), PROFILES. Fewer LUNs than here would be another profile under this name.
PROFILE_LEAST_LUNS = {
    "single": 1,
    "dup": 1,
    "raid0": 2,
    "raid1": 2,
    "raid1c3": 3,
    "raid1c4": 4,
    "raid10": 4,
    "raid5": 3,
    "raid6": 4,
}
_PROFILES = (
    ("single", "one copy"),
    ("dup", "two copies on one LUN"),
    ("raid0", "striped over all LUNs"),
    ("raid1", "two copies, each on a LUN of its own"),
    ("raid1c3", "three copies on three LUNs"),
    ("raid1c4", "four copies on four LUNs"),
    ("raid10", "two copies, striped"),
    ("raid5", "one parity; not for production, says btrfs(5)"),
    ("raid6", "two parities; not for production, says btrfs(5)"),
)
BTRFS_DATA_PROFILE = Option(
    "data_profile",
    "mkfs",
    "Profile of data",
    tuple(Choice(name, ("-d", name), f"data-{name}", help) for name, help in _PROFILES),
    help="Default: single, on several LUNs too",
)
BTRFS_METADATA_PROFILE = Option(
    "metadata_profile",
    "mkfs",
    "Profile of metadata",
    tuple(Choice(name, ("-m", name), f"meta-{name}", help) for name, help in _PROFILES),
    help="Default: dup on one LUN, raid1 on several",
)
BTRFS_COMPRESSION = Option(
    "compression",
    "mount",
    "Compression",
    (
        Choice("lzo", ("compress=lzo",), "lzo"),
        Choice("zlib", ("compress=zlib",), "zlib"),
        Choice("zstd", ("compress=zstd",), "zstd", "level 3"),
        *(
            Choice(f"{name}:{level}", (f"compress={name}:{level}",), f"{name}{level}")
            for name, levels in (("zlib", "19"), ("zstd", ("1", "6", "15")))
            for level in levels
        ),
    ),
    help="Benchmark data that compresses well measures the CPU, not the disk",
)
BTRFS_COPY_ON_WRITE = Option(
    "copy_on_write",
    "mount",
    "Copy on write",
    (Choice("off", ("nodatacow",), "nocow", "no checksums of data either"),),
)
REISER_TAILS = Option(
    "tails",
    "mount",
    "Tails",
    (Choice("off", ("notail",), "notail", "ends of files are not packed into the tree"),),
    help="Default: small files and ends of files share blocks",
)
NILFS_ORDER = Option(
    "order",
    "mount",
    "Order of data",
    (
        Choice("relaxed", ("order=relaxed",), "relaxed", "the default"),
        Choice("strict", ("order=strict",), "strict", "as written, also overwritten data"),
    ),
)
