"""Labels: every configuration that can be made has one, and it reads back as what it was."""

from hypothesis import given
from hypothesis import strategies as st

from fsbench_web.catalog.configurations.filesystems import FILESYSTEMS, SCHEDULER_LABELS, Option
from fsbench_web.catalog.configurations.labels import (
    canonical_scheduler,
    configuration_label,
    current_label,
    parse_label,
)

# What the Unisys 2005 paper and the other published studies name.
PAPER = ["ext3_wb_noatime_dl", "ext3_wb_noatime_dl_xj"]
PAPER += ["jfs", "jfs_noatime", "jfs_xj", "jfs_xj_dl", "jfs_xj_noop", "reiser3_notail"]


def _values(option: Option) -> st.SearchStrategy[str]:
    if option.choices:
        return st.sampled_from([choice.value for choice in option.choices])
    assert option.minimum is not None
    return st.integers(option.minimum, option.maximum).map(str)


@st.composite
def configurations(draw: st.DrawFn) -> tuple[str, dict[str, str], str, bool]:
    spec = draw(st.sampled_from(list(FILESYSTEMS.values())))
    chosen = draw(st.sets(st.sampled_from([option.key for option in spec.options])))
    options = {o.key: draw(_values(o)) for o in spec.options if o.key in chosen}
    scheduler = canonical_scheduler(draw(st.sampled_from(["", *SCHEDULER_LABELS])))
    return spec.slug, options, scheduler, draw(st.booleans())


@given(configurations())
def test_every_label_reads_back(configuration: tuple[str, dict[str, str], str, bool]) -> None:
    parts = parse_label(configuration_label(*configuration))
    assert parts is not None
    read = (parts.filesystem, parts.options, parts.scheduler, parts.external_journal)
    assert read == configuration


@given(configurations(), configurations())
def test_different_configurations_have_different_labels(
    first: tuple[str, dict[str, str], str, bool], second: tuple[str, dict[str, str], str, bool]
) -> None:
    assert (first == second) == (configuration_label(*first) == configuration_label(*second))


def test_the_labels_of_the_paper_are_ours() -> None:
    for label in PAPER:
        parts = parse_label(label)
        assert parts is not None
        assert (
            configuration_label(
                parts.filesystem, parts.options, parts.scheduler, parts.external_journal
            )
            == label
        )


def test_the_parts_may_come_in_any_order() -> None:
    assert parse_label("ext3_xj_dl_noatime_wb") == parse_label("ext3_wb_noatime_dl_xj")
    parts = parse_label("jfs_xj_noop")
    assert parts is not None
    assert (parts.scheduler, parts.external_journal) == ("noop", True)


def test_an_old_label_has_todays_word_for_its_scheduler() -> None:
    assert current_label("ext3_wb_noatime_dl_xj") == "ext3_wb_noatime_mq-deadline_xj"
    assert current_label("jfs_xj_noop") == "jfs_xj_none"
    for same in ("ext4_none", "ext4_mq-deadline", "ext4_cfq", "ext3_as", "ext4", "mine_noop", ""):
        assert current_label(same) == same


def test_noatime_and_nodiratime_together_are_one_value() -> None:
    parts = parse_label("reiser3_notail_noatime_nodiratime")
    assert parts is not None
    assert parts.options == {"tails": "off", "atime": "noatime,nodiratime"}
    assert configuration_label("reiser3", parts.options) == "reiser3_noatime-nodiratime_notail"


def test_what_is_not_a_label_is_none() -> None:
    for label in (
        *("", "_", "ext4_", "ext4__noatime", "EXT4", "reiser4", "ext4_noatime_strictatime"),
        *("xfs_ag", "xfs_ag1", "xfs_ag04", "xfs_ag513", "xfs_ag٤", "ext4_dl_bfq", "ext4_xj_xj"),
        "xfs_ag" + "9" * 5000,
    ):
        assert parse_label(label) is None, label
