"""Documents as text: what is read, what is refused, and that writing and reading are inverse."""

import json
import time

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from fsbench_web.platform import plain_text
from fsbench_web.studies.jobs.documents import text as job_document
from fsbench_web.studies.jobs.documents.text import UnreadableDocument, read, write

texts = st.text(st.characters(exclude_categories=["Cc", "Cf", "Cs", "Zl", "Zp"]), max_size=12)
texts = texts.filter(lambda text: not plain_text.problem(text))
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**62), 2**62) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
documents = st.dictionaries(texts.filter(str.strip), values, min_size=1, max_size=5)


@settings(deadline=None, max_examples=60)
@given(documents)
def test_what_is_written_is_read_as_the_same(data: dict) -> None:
    assert read(write(data)) == data


@settings(deadline=None, max_examples=60)
@given(documents)
def test_json_is_read_as_the_same(data: dict) -> None:
    assert read(json.dumps(data)) == data


@settings(deadline=None, max_examples=60)
@given(documents)
def test_other_programs_read_what_is_written_as_the_same(data: dict) -> None:
    assert yaml.safe_load(write(data)) == data


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("off", "off"),  # a choice of Btrfs, and a boolean in YAML 1.1
        ("none", "none"),
        ("yes", "yes"),
        ("2005-12-01", "2005-12-01"),
        ("1:30", "1:30"),
        ("0x10", "0x10"),
        ("007", "007"),
        ("1e3", "1e3"),
        ("null", None),
        ("~", None),
        ("", None),
        ("true", True),
        ("42", 42),
        ("2.5", 2.5),
        ("=", "="),
        ("<<", "<<"),
    ],
)
def test_words_stay_words(text: str, value: object) -> None:
    assert read(f"a: {text}\n") == {"a": value}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty"),
        (" \n", "empty"),
        ("a: [1", "line 1"),
        ('{"a" 1}', "line 1, column 6"),
        ('{"a": 1, "a": 2}', '"a" is said twice'),
        ("a: 1\nb: 2\na: 3", '"a" is said twice'),
        ("1: a", "a key must be a text"),
        ("[1]: a", "a key must be a text"),
        ("a: &x [1]\nb: *x", "line 1, column 4: anchors and aliases"),
        ("a: *x", "anchors and aliases"),
        ("a: !!python/object/apply:os.system [id]", "tags are not read"),
        ("a: !!int 3", "tags are not read"),
        ("a: 1\n--- \nb: 2", "not YAML"),
        ("\x00", "not YAML"),
        ("a: \x07", "not YAML"),
        ('{"a": "\\u0000"}', "control character"),
        ('a: "x\\u2028y"', "control character"),
        ('{"a": "\\ud800"}', "half a character"),
        ('{"a": NaN}', "no number"),
        ('{"a": 1e999}', "no number"),
        ("a: 9223372036854775808", "too large"),
        ("a: " + "9" * 6000, "too large"),
        ('{"a": ' + "9" * 6000 + "}", "too large"),
        ("[" * 30_000, "deep"),
        ('{"a":' * 10_000, "deep"),
        ("- " * 40 + "1", "deep"),
        ("a: 1\n" * 20_000, "larger than 64 KiB"),
    ],
)
def test_it_refuses(text: str, message: str) -> None:
    with pytest.raises(UnreadableDocument, match=message):
        read(text)


def test_it_refuses_what_is_not_utf_8() -> None:
    with pytest.raises(UnreadableDocument, match="byte 3"):
        read(b"a: \xff")
    assert read(b"\xef\xbb\xbfa: 1") == {"a": 1}


def test_a_billion_laughs_are_refused_at_once() -> None:
    lines = ["a0: &a0 [ha, ha, ha, ha, ha, ha, ha, ha, ha]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    began = time.process_time()
    with pytest.raises(UnreadableDocument, match="anchors and aliases"):
        read("\n".join(lines))
    assert time.process_time() - began < 1


def test_no_list_is_written_as_a_reference_to_another() -> None:
    shared = ["none", "bfq"]
    assert read(write({"a": shared, "b": shared})) == {"a": shared, "b": shared}
    assert job_document.MAXIMUM_BYTES == 65536
