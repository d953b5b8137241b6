"""The address is the state: it survives the way there and back, and refuses what makes no sense."""

from dataclasses import fields, replace

import pytest
from django.http import QueryDict
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fsbench_web.compare.selection.fields import (
    ANSWERS,
    CELLS,
    CONTENDERS,
    EMULATED,
    LISTS,
    PAPERS,
    RULES,
    SETTINGS,
    SORTS,
    UNITS,
)
from fsbench_web.compare.selection.spec import MOST_VALUES, ComparisonSpec, SpecError
from fsbench_web.compare.selection.wording import describe
from fsbench_web.core.scoring import categories
from fsbench_web.studies.scores.choices import ScoreChoices

names = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=12
)
# Few and short: twenty fields together must stay below what Hypothesis draws at most.
many = st.lists(names, max_size=3).map(tuple)
# The first draw of a process reads or makes a table of all characters, which takes a second on a
# busy machine: how fast examples are drawn says nothing of the code.
at_any_speed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
specs = st.builds(
    ComparisonSpec,
    studies=many,
    by=st.sampled_from(sorted(CONTENDERS)),
    tests=many,
    categories=st.lists(st.sampled_from(categories.all_slugs()), max_size=8).map(tuple),
    filesystems=many,
    workloads=many,
    hardware=many,
    configurations=many,
    kernels=many,
    distributions=many,
    luns=many,
    schedulers=many,
    journals=many,
    mkfs=many,
    mount=many,
    preparations=many,
    machines=many,
    emulated=st.sampled_from(sorted(EMULATED)),
    part_tests=many,
    part_categories=st.lists(st.sampled_from(categories.all_slugs()), max_size=8).map(tuple),
    baseline=names | st.just(""),
    cells=st.sampled_from(sorted(CELLS)),
    matched=st.booleans(),
    sort=st.sampled_from(sorted(SORTS)),
    margin=st.floats(0, 100),
    min_runs=st.integers(1, 999_999),
    papers=st.sampled_from(["", *sorted(PAPERS)]),
    units=st.sampled_from(sorted(UNITS)),
    rule=st.sampled_from(sorted(RULES)),
    equivalence=st.floats(0, 100),
    from_test=st.integers(0, 999_999_999),
    from_row=st.integers(0, 999_999_999),
    profile=st.sampled_from(["", "oltp", "web-server@12"]),
    operations=many,
    block=st.sampled_from(["", "8k", "8k-1m"]),
    file=st.sampled_from(["", "1g", "1m-4g"]),
    cached=st.sampled_from(sorted(ANSWERS)),
    flushed=st.sampled_from(sorted(ANSWERS)),
)


def test_every_field_of_a_comparison_is_in_the_table_of_addresses():
    in_table = {*SETTINGS, *(entry.name for entry in LISTS)}
    assert in_table == {field.name for field in fields(ComparisonSpec)}


@pytest.mark.parametrize(
    ("query", "canonical"),
    [
        ("category=profile:oltp", "profile=oltp"),
        ("margin=5", "rule=freenix&margin=5"),
        ("block=8192&file=1048576-4194304", "block=8m&file=1g-4g"),
        ("papers=no&study=lab", "study=lab"),
        (
            "matched=1&min_runs=3&kernel=6.1&mkfs=defaults",
            "kernel=6.1&mkfs=defaults&matched=1&min_runs=3",
        ),
    ],
)
def test_addresses_of_before_keep_their_meaning(query, canonical):
    assert ComparisonSpec.from_query(query).to_query() == canonical


@at_any_speed
@given(specs)
def test_a_sentence_says_every_random_comparison(spec):
    assert describe(spec, ScoreChoices((), (), (), (), (), ()))


@at_any_speed
@given(specs)
def test_a_comparison_comes_back_from_its_own_address(spec):
    assert ComparisonSpec.from_query(spec.to_query()) == spec
    assert ComparisonSpec.from_query(QueryDict(spec.to_query())) == spec


@at_any_speed
@given(specs)
def test_the_same_comparison_has_one_address(spec):
    many = {
        field.name: getattr(spec, field.name)[::-1] * 2
        for field in fields(spec)
        if isinstance(getattr(spec, field.name), tuple)
    }
    shuffled = replace(spec, **many)
    assert shuffled == spec
    assert shuffled.to_query() == spec.to_query()


def test_everything_is_the_empty_address():
    assert ComparisonSpec().to_query() == ""
    assert ComparisonSpec.from_query("") == ComparisonSpec()
    assert ComparisonSpec.from_query("study=&by=&test=") == ComparisonSpec()


def test_tests_and_categories_stand_in_the_papers_order():
    spec = ComparisonSpec.from_query(
        "test=read&test=mkfs&test=write&category=mean&category=minimum"
    )
    assert spec.tests == ("write", "read", "mkfs")
    assert spec.to_query() == "test=write&test=read&test=mkfs&category=minimum&category=mean"


def test_it_tells_all_problems_at_once():
    with pytest.raises(SpecError) as refused:
        ComparisonSpec.from_query("stduy=a&by=colour&category=median")
    first, second, third = refused.value.problems
    assert first.startswith('A comparison has no "stduy"; it has study, test, category,')
    assert second.startswith('by is "colour"; it can be filesystem, configuration, kernel,')
    assert third == (
        'There is no category "median"; there is maximum, minimum, total_average, '
        "target_average, ora_ta, specfp_ta, overall, mean."
    )


@pytest.mark.parametrize(
    "query",
    [
        *("margin=-1", "margin=nan", "margin=inf", "margin=ten", "margin=100.1"),
        *("min_runs=0", "min_runs=1.5", "min_runs=-3", "min_runs=٣", "min_runs=9999999"),
        *("matched=yes", "cells=fast", "sort=colour", "baseline=%00", "baseline=" + "a" * 201),
        "margin=1&margin=2",
    ],
)
def test_it_says_what_a_setting_can_be(query):
    with pytest.raises(SpecError, match=f"{query.partition('=')[0]} is "):
        ComparisonSpec.from_query(query)


def test_what_is_as_it_would_be_anyway_is_not_in_the_address():
    spec = ComparisonSpec.from_query("margin=10.0&min_runs=1&sort=&cells=&baseline=&matched=")
    assert spec == ComparisonSpec()
    assert ComparisonSpec(margin=5.0, matched=True).to_query() == "matched=1&rule=freenix&margin=5"
    assert ComparisonSpec.from_query("margin=5").rule == "freenix", "of before there was another"


@pytest.mark.parametrize(
    "query",
    ["study=%00", "study=" + "a" * 201, "&".join(f"test=t{n}" for n in range(MOST_VALUES + 1))],
    ids=["NUL", "long", "many"],
)
def test_it_refuses_what_no_form_could_have_sent(query):
    with pytest.raises(SpecError):
        ComparisonSpec.from_query(query)


def test_it_names_what_exists_nowhere():
    choices = ScoreChoices(
        studies=(("lab", "Our lab"),),
        tests=("mkfs",),
        categories=(),
        filesystems=("reiser3",),
        workloads=(("iozone-small", "IOzone, small"),),
        hardware=(),
    )
    known = ComparisonSpec.from_query(
        "study=lab&test=mkfs&test=fread&filesystem=reiser3&filesystem=ext4&workload=iozone-small"
    )
    assert known.unknown_values(choices) == []
    unknown = ComparisonSpec.from_query("study=lba&test=wirte&filesystem=ntfs&hardware=<b>")
    problems = unknown.unknown_values(choices)
    assert problems[0] == 'There is no study "lba"; there is lab.'
    assert problems[1].startswith('There is no test "wirte"; there is write, rewrite,')
    assert problems[2].startswith('There is no filesystem "ntfs"; there is')
    assert problems[3] == 'There is no hardware "<b>"; there is none yet.'


def test_many_unknown_values_are_counted_and_the_first_ones_named():
    choices = ScoreChoices((), (), (), (), (), (), configurations=tuple(f"c{n}" for n in range(99)))
    spec = ComparisonSpec(
        tests=("wirte",), configurations=tuple(f"{n:03}{'x' * 150}" for n in range(300))
    )
    test, configuration = spec.unknown_values(choices)
    assert test.startswith('There is no test "wirte"; there is write, rewrite, read,')
    named = ", ".join(f'"{n:03}{"x" * 56}…"' for n in range(3))
    assert configuration.startswith(
        f"There is no configuration {named} and 297 more (300 in all); there is c0, c1, c10, c11,"
    )
    assert configuration.endswith(" and 75 more.")
    assert (
        ComparisonSpec(configurations=("a", "b", "c1"))
        .unknown_values(choices)[0]
        .startswith('There is no configuration "a" or "b"; there is c0,')
    )


def test_many_parameters_that_do_not_exist_are_counted():
    with pytest.raises(SpecError) as refused:
        ComparisonSpec.from_query("&".join(f"stduy{n}=a" for n in range(300)))
    (problem,) = refused.value.problems
    assert problem.startswith(
        'A comparison has no "stduy0", "stduy1", "stduy2" and 297 more (300 in all); it has study,'
    )


def test_a_part_is_said_behind_all_that_it_is_a_part_of():
    spec = ComparisonSpec.from_query("part_category=mean&part_test=mkfs&part_test=write&study=lab")
    assert spec.to_query() == "study=lab&part_test=write&part_test=mkfs&part_category=mean"
    assert (spec.is_part, spec.whole) == (True, ComparisonSpec(studies=("lab",)))
    assert not spec.whole.is_part
    assert [spec.shows(*table) for table in (("write", "mean"), ("write", "overall"))] == [
        True,
        False,
    ]
    assert describe(spec, ScoreChoices((), (), (), (), (), ())).endswith(
        "; shown of these: tests Write, File system creation, category Mean."
    )


def test_two_kinds_of_contender_at_once_are_refused() -> None:
    with pytest.raises(SpecError, match="more than once"):
        ComparisonSpec.from_query("by=filesystem&by=configuration")


def test_a_kernel_is_chosen_by_its_slug_and_not_known_is_a_choice():
    choices = ScoreChoices(
        (), (), (), (), (), (), kernels=("", "6.1 Debian"), schedulers=(("", True), ("bfq", True))
    )
    spec = ComparisonSpec.from_query("kernel=6.1-debian&kernel=unknown&scheduler=default")
    assert spec.unknown_values(choices) == []
    assert ComparisonSpec(kernels=("6.2",)).unknown_values(choices) == [
        'There is no kernel "6.2"; there is 6.1-debian, unknown.'
    ]
