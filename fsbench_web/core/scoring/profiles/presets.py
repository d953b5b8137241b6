"""Work profiles that come with fsbench, with their sources. Pure.

A change makes a further version; the earlier ones stay.
"""

from collections.abc import Mapping, Sequence

from fsbench_web.core.scoring.profiles.definition import RATIO, WORK, Part, Profile, Sizes

_MB, _GB = 1024, 1024 * 1024


def _part(operation: str, weight: float, blocks: tuple[int, int], files: tuple[int, int]) -> Part:
    return Part(operation, weight, Sizes(*blocks), Sizes(*files))


_VERSIONS: Sequence[Profile] = (
    Profile(
        "OLTP database",
        RATIO,
        (
            _part("random_read", 65, (8, 16), (_GB, 4 * _GB)),
            _part("random_write", 35, (8, 16), (_GB, 4 * _GB)),
        ),
        "Pages of 8 to 16 KB read and written at random places of tables of 1 to 4 GB.",
        "Page sizes: 8 KB of PostgreSQL (block_size), 16 KB of InnoDB (innodb_page_size), by their "
        "manuals. 65 reads to 35 writes: the mix of SNIA's Solid State Storage Performance Test "
        "Specification 2.0.2 (WSAT, RW 65/35). How large the tables are is an assumption.",
        "oltp",
        1,
    ),
    Profile(
        "Mail server",
        RATIO,
        (
            _part("read", 50, (16, 16), (16, 16)),
            _part("write", 50, (16, 16), (16, 16)),
        ),
        "Messages of 16 KB, each a file of its own: as many read whole as written.",
        "The personality varmail of Filebench (version 3.0): files of 16 KB in the mean, appended "
        "to by 16 KB, two read whole for two appended to. Creating, fsync and deleting are not in "
        "these parts: add PostMark's transactions where they are measured.",
        "mail",
        1,
    ),
    Profile(
        "Build farm",
        RATIO,
        (
            _part("read", 60, (4, 16), (4, 64)),
            _part("write", 40, (4, 16), (4, 64)),
        ),
        "Sources and objects: many small files, read more often than written.",
        "Most files are small: half of them 4 KB or less (N. Agrawal et al., A Five-Year Study of "
        "File-System Metadata, FAST 2007). 60 reads to 40 writes is an assumption: measure a build "
        "with strace and read the profile from it.",
        "build",
        1,
    ),
    Profile(
        "Backup target",
        WORK,
        (
            _part("write", 90, (_MB // 4, _MB), (_GB, 4 * _GB)),
            _part("read", 10, (_MB // 4, _MB), (_GB, 4 * _GB)),
        ),
        "Large files written from end to end, and a tenth of them read back.",
        "One unit, and a given amount of work: the time that it takes is what a backup window is "
        "made of. Blocks of 256 KB to 1 MB are assumptions (dump tools write 10 KB to 1 MB), and "
        "so is a tenth that is read back to be verified.",
        "backup",
        1,
    ),
    Profile(
        "Virtual machines",
        RATIO,
        (
            _part("random_read", 25, (4, 8), (_GB, 4 * _GB)),
            _part("random_write", 25, (4, 8), (_GB, 4 * _GB)),
            _part("random_read", 25, (64, 256), (_GB, 4 * _GB)),
            _part("random_write", 25, (64, 256), (_GB, 4 * _GB)),
        ),
        "Images of virtual disks: most operations are small, most bytes are in large ones.",
        "Tintri, Data dive: Read and write sizes in virtualized environments (2,000 systems). "
        "Operations of 4 KB dominate, reads of 8 KB are common, and most bytes are in 64 and 256 "
        "KB. Equal weights are an assumption.",
        "virtual-machines",
        1,
    ),
    Profile(
        "Media",
        WORK,
        (
            _part("read", 90, (_MB // 4, _MB // 4), (_GB, 4 * _GB)),
            _part("write", 10, (_MB, _MB), (_GB, 4 * _GB)),
        ),
        "Long files played from end to end, and new ones stored.",
        "The personality videoserver of Filebench (version 3.0): reads of 256 KB, writes of 1 MB, "
        "files of 10 GB. Nine read for one written is an assumption, and so are files of 1 to 4 GB "
        "for 10 GB.",
        "media",
        1,
    ),
)
VERSIONS: Mapping[str, Profile] = {profile.name: profile for profile in _VERSIONS}
"""Every version by name, ``oltp@1``."""
LATEST: Mapping[str, Profile] = {profile.slug: profile for profile in _VERSIONS}
"""The latest version of each by slug: later ones stand behind earlier ones."""
