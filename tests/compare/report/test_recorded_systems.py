"""Systems in a report: the first whole, the others by what differs."""

from fsbench_web.compare.report.views import systems

CPU = "Processor vulnerabilities and mitigations"


def facts(filesystem: str, **more: str) -> dict[str, list[list[str]]]:
    return {
        "Kernel command line": [["Command line", "quiet"]],
        CPU: [["l1tf", "Not affected"], ["mds", "Not affected"], ["spectre_v1", "Vulnerable"]],
        "Operating system": [["Kernel", "6.1.0"]],
        "Tools": [[f"mkfs.{filesystem}", "1.2"]],
        "File system": [["Mounted as", filesystem], *([key, text] for key, text in more.items())],
    }


def test_the_second_system_says_only_what_differs() -> None:
    first, second = systems(
        [
            ("Debian 6.1.0", ["ext4_none", "ext4_noatime"], facts("ext4")),
            ("Debian 6.1.0", ["xfs_none"], facts("xfs", Options="noatime")),
        ]
    )
    assert first == (
        "Debian 6.1.0: ext4_none, ext4_noatime",
        (
            ("Operating system: Kernel", "6.1.0"),
            ("Tools: mkfs.ext4", "1.2"),
            ("File system: Mounted as", "ext4"),
            ("Kernel command line: Command line", "quiet"),
            (f"{CPU}: spectre_v1", "Vulnerable"),
            (f"{CPU}: not affected", "l1tf, mds"),
        ),
    )
    assert second == (
        "Debian 6.1.0: xfs_none; what differs from the first",
        (
            ("Tools: mkfs.xfs", "1.2"),
            ("File system: Mounted as", "xfs"),
            ("File system: Options", "noatime"),
            ("Tools: mkfs.ext4", "–"),
        ),
    )


def test_a_fact_that_is_there_twice_is_told_twice_and_many_names_are_counted() -> None:
    [(heading, recorded)] = systems(
        [("Debian", [f"ext4_{n}" for n in range(9)], {"LUN": [["Disk", "a"], ["Disk", "b"]]})]
    )
    assert heading.endswith("ext4_5 and 3 more")
    assert recorded == (("LUN: Disk", "a; b"),)
