"""A sealed file is checked byte by byte and number by number, and hostile ones are refused."""

import copy
import io
import random
import stat
import subprocess
import zipfile
from base64 import b64decode
from json import loads
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from fsbench_web.core.sealed import container, descriptions, envelope, parquet, verifying
from tests.core.sealed.conftest import KEY, OTHER_KEY, TABLE, inputs_of, raw_files, sealed

MEASURED, SCORES = "tables/measurements.parquet", "tables/scores.parquet"
OURS, THEIRS = (envelope.key_id(envelope.public_pem(key)) for key in (KEY, OTHER_KEY))


def problems(data: bytes, **trust: Any) -> set[tuple[str, str]]:
    return {(one.code, one.file) for one in verifying.verify(data, **trust).problems}


def files_named(data: bytes) -> set[str]:
    return {file for _, file in problems(data)}


def described(members: dict[str, bytes]) -> bytes:
    """The zip with descriptions that fit its tables, as a careful attacker makes them."""
    subjects, inputs, _ = envelope.verify(members[envelope.NAME])
    tables = {name: members[descriptions.path_of(name)] for name in inputs["tables"]}
    return container.write(members | descriptions.written(inputs, subjects, tables))


def test_a_sealed_file_is_sound(whole: bytes) -> None:
    report = verifying.verify(whole, trusted={OURS})
    assert (report.problems, report.key, report.is_trusted) == ([], OURS, True)
    assert (report.files, report.stated) == (9, 0)
    assert report.numbers > 10
    assert verifying.verify(whole).is_trusted is None


def test_the_same_inputs_are_the_same_file(whole: bytes) -> None:
    assert sealed() == whole


def spans(members: dict[str, bytes]) -> list[tuple[int, str]]:
    """Where each member ends, then where each of their entries at the end does."""
    ends, position = [], 0
    for name, content in members.items():
        position += 30 + len(name) + len(content)
        ends.append((position, name))
    for name in members:
        position += 46 + len(name)
        ends.append((position, name))
    return [*ends, (position + 22, "")]


def test_every_changed_byte_is_refused_with_its_file(
    whole: bytes, members: dict[str, bytes]
) -> None:
    chance = random.Random(51)
    ends = spans(members)
    for _ in range(1000):
        place = chance.randrange(len(whole))
        changed = bytearray(whole)
        changed[place] ^= chance.randrange(1, 256)
        name = next(name for end, name in ends if place < end)
        assert name in files_named(bytes(changed)), place


def test_every_changed_byte_in_a_zip_made_again_is_refused(members: dict[str, bytes]) -> None:
    chance = random.Random(52)
    for trial in range(300):
        name = list(members)[trial % len(members)]
        content = bytearray(members[name])
        content[chance.randrange(len(content))] ^= chance.randrange(1, 256)
        assert name in files_named(container.write(members | {name: bytes(content)})), trial


@pytest.mark.parametrize("name", ["raw/1-r.csv", MEASURED, descriptions.CRATE, envelope.NAME])
def test_a_missing_file_is_named(members: dict[str, bytes], name: str) -> None:
    del members[name]
    assert ("missing", name) in problems(container.write(members))


@pytest.mark.parametrize("name", ["raw/9-more.txt", "tables/more.parquet", "more.txt"])
def test_an_extra_file_is_named(members: dict[str, bytes], name: str) -> None:
    assert problems(container.write(members | {name: b"1"})) == {("extra", name)}


def test_files_in_another_order_are_refused(members: dict[str, bytes]) -> None:
    turned = dict(reversed(members.items()))
    assert problems(container.write(turned)) == {("not_as_written", "")}


def test_swapped_raw_files_are_named(members: dict[str, bytes]) -> None:
    one, other = "raw/1-r.csv", "raw/2-r.csv"
    members[one], members[other] = members[other], members[one]
    assert problems(container.write(members)) == {("digest", one), ("digest", other)}


def test_the_table_of_another_study_is_named(members: dict[str, bytes]) -> None:
    others = container.read(sealed(200))
    for name in (MEASURED, SCORES):
        assert ("row", name) in problems(described(members | {name: others[name]}))
    swapped = described(members | {SCORES: members[MEASURED], MEASURED: members[SCORES]})
    assert {file for _, file in problems(swapped)} == {MEASURED, SCORES}


def changed_score(members: dict[str, bytes], times: float, name: str = SCORES) -> bytes:
    table = pyarrow.parquet.read_table(io.BytesIO(members[name]))
    values = [value * times for value in table["value"].to_pylist()]
    place = table.schema.get_field_index("value")
    field = table.schema.field("value")
    return parquet.write(table.set_column(place, field, [values]))


def test_a_score_that_does_not_follow_is_named(members: dict[str, bytes]) -> None:
    data = described(members | {SCORES: changed_score(members, 1.0000001)})
    [found] = verifying.verify(data).problems
    assert (found.code, found.file) == ("row", SCORES)
    assert found.detail.startswith("value of row 1,")


@pytest.mark.parametrize("times", [1.0, 1 + 1e-12])
def test_another_rounding_follows(members: dict[str, bytes], times: float) -> None:
    """Of NumPy on another machine; measured values come from text and are exact."""
    data = described(members | {SCORES: changed_score(members, times)})
    assert problems(data) == set()
    data = described(members | {MEASURED: changed_score(members, 1 + 1e-12, MEASURED)})
    assert ("row", MEASURED) in problems(data)


class TestKeys:
    def test_a_file_of_another_key_is_sound_and_not_trusted(self) -> None:
        report = verifying.verify(sealed(key=OTHER_KEY), trusted={OURS})
        assert [one.code for one in report.problems] == ["untrusted"]
        assert report.key != OURS

    def test_a_revoked_key_is_refused(self, whole: bytes) -> None:
        assert problems(whole, trusted=set(), revoked={OURS}) == {("revoked", envelope.NAME)}

    def test_a_signature_of_another_key_does_not_fit(self, members: dict[str, bytes]) -> None:
        theirs = loads(container.read(sealed(key=OTHER_KEY))[envelope.NAME])
        ours = loads(members[envelope.NAME]) | {"signatures": theirs["signatures"]}
        changed = members | {envelope.NAME: envelope.as_json(ours)}
        assert problems(container.write(changed)) == {("signature", envelope.NAME)}

    def test_openssl_verifies_the_signature(
        self, members: dict[str, bytes], tmp_path: Path
    ) -> None:
        outer = loads(members[envelope.NAME])
        payload = b64decode(outer["payload"])
        # The vector of the specification of DSSE has this form.
        signed = b"DSSEv1 28 application/vnd.in-toto+json %d " % len(payload) + payload
        (tmp_path / "signed").write_bytes(signed)
        (tmp_path / "sig").write_bytes(b64decode(outer["signatures"][0]["sig"]))
        (tmp_path / "key").write_text(loads(payload)["predicate"]["public_key"])
        asked = ["openssl", "pkeyutl", "-verify", "-rawin", "-pubin", "-inkey", "key"]
        done = subprocess.run(
            [*asked, "-sigfile", "sig", "-in", "signed"], cwd=tmp_path, capture_output=True
        )
        assert done.returncode == 0, done.stderr
        der = ["openssl", "pkey", "-pubin", "-in", "key", "-outform", "DER"]
        public = subprocess.run(der, cwd=tmp_path, capture_output=True, check=True).stdout
        digest = subprocess.run(
            ["openssl", "dgst", "-sha256", "-r"], input=public, capture_output=True, check=True
        )
        assert digest.stdout.split()[0].decode() == OURS


class TestHostileZips:
    def with_entry(self, members: dict[str, bytes], entry: zipfile.ZipInfo | str) -> bytes:
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            for name, content in members.items():
                archive.writestr(name, content)
            archive.writestr(entry, b"0" * 10_000_000)
        return out.getvalue()

    @pytest.mark.parametrize(
        "name", ["../x", "/etc/passwd", "raw/../../x", "C:\\x", "raw/a/b", ".x", "raw/", "raw/\xff"]
    )
    def test_no_way_out(self, members: dict[str, bytes], name: str) -> None:
        found = problems(self.with_entry(members, zipfile.ZipInfo(name)))
        assert [code for code, _ in found] == ["name"]

    @pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
    def test_nothing_is_unpacked(self, members: dict[str, bytes], method: int) -> None:
        entry = zipfile.ZipInfo("raw/bomb")
        entry.compress_type = method
        data = self.with_entry(members, entry)
        assert len(data) < 300_000
        assert problems(data) == {("packed", "raw/bomb")}

    def test_no_links(self, members: dict[str, bytes]) -> None:
        entry = zipfile.ZipInfo("raw/link")
        entry.create_system = 3
        entry.external_attr = (stat.S_IFLNK | 0o777) << 16
        assert [code for code, _ in problems(self.with_entry(members, entry))] == ["not_as_written"]

    @pytest.mark.filterwarnings("ignore:Duplicate name")
    def test_no_name_twice(self, members: dict[str, bytes]) -> None:
        assert problems(self.with_entry(members, "raw/1-r.csv")) == {("twice", "raw/1-r.csv")}

    @pytest.mark.parametrize("place", [18, 22])
    def test_no_size_that_is_not_there(self, whole: bytes, place: int) -> None:
        changed = whole[:place] + b"\xff\xff\xff\x7f" + whole[place + 4 :]
        both = whole[:18] + b"\xff\xff\xff\x7f" * 2 + whole[26:]
        assert problems(changed) == {("packed", descriptions.CRATE)}
        assert problems(both) == {("cut_off", descriptions.CRATE)}

    def test_bounded(self, monkeypatch: pytest.MonkeyPatch, whole: bytes) -> None:
        many = container.write({f"raw/{number}": b"" for number in range(4001)})
        assert problems(many) == {("too_many_files", "")}
        monkeypatch.setattr(container, "MOST_BYTES", 100)
        assert problems(whole) == {("too_large", "")}

    @pytest.mark.parametrize(
        ("data", "code"),
        [
            (b"", "not_zip"),
            (b"x" * 100, "not_zip"),
            (b"PK\x03\x04", "cut_off"),
            (b"PK\x05\x06" + bytes(18), "not_as_written"),
        ],
    )
    def test_no_zip(self, data: bytes, code: str) -> None:
        assert problems(data) == {(code, "")}


class TestHostileTables:
    def refused(self, members: dict[str, bytes], table: bytes) -> set[tuple[str, str]]:
        return problems(described(members | {SCORES: table}))

    def test_compressed(self, members: dict[str, bytes]) -> None:
        table, out = pyarrow.parquet.read_table(io.BytesIO(members[SCORES])), io.BytesIO()
        pyarrow.parquet.write_table(table, out, compression="zstd")
        assert ("table", SCORES) in self.refused(members, out.getvalue())

    def test_a_dictionary_that_blows_up(self, members: dict[str, bytes]) -> None:
        table = pyarrow.parquet.read_table(io.BytesIO(members[SCORES]))
        place = table.schema.get_field_index("test")
        column = pyarrow.array(["x" * 5_000_000] * table.num_rows)
        changed = table.set_column(place, table.schema.field("test"), column)
        assert ("row", SCORES) in self.refused(members, parquet.write(changed))

    def test_more_rows(self, members: dict[str, bytes]) -> None:
        table = pyarrow.parquet.read_table(io.BytesIO(members[SCORES]))
        twice = pyarrow.concat_tables([table, table]).combine_chunks()
        assert ("row", SCORES) in self.refused(members, parquet.write(twice))

    def test_another_unit(self, members: dict[str, bytes]) -> None:
        table = pyarrow.parquet.read_table(io.BytesIO(members[SCORES]))
        place = table.schema.get_field_index("value")
        field = table.schema.field("value").with_metadata({"unit": "MB/s"})
        changed = table.set_column(place, field, table["value"])
        assert ("table", SCORES) in self.refused(members, parquet.write(changed))

    def test_no_parquet(self, members: dict[str, bytes]) -> None:
        assert ("table", SCORES) in self.refused(members, b"PAR1 nothing PAR1")


ODD: tuple[Any, ...] = (None, [], {}, "x", -1, 10**30, 1e308, [[]], True, [None], {"raw": 1})


def places_in(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place of some JSON."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    nested = [(key, one) for key, one in pairs]
    found = [(*path, key) for key, _ in nested]
    for key, one in nested:
        if isinstance(one, dict | list):
            found += places_in(one, (*path, key))
    return found


def test_inputs_that_no_site_signs_make_no_check_fail() -> None:
    """Somebody may sign anything with a key of their own."""
    raw = raw_files()
    del raw["raw/3-fio.json"]
    whole = container.read(verifying.seal(inputs_of(raw), raw, KEY))
    subjects, inputs, _ = envelope.verify(whole[envelope.NAME])
    for number, place in enumerate(places_in(inputs)):
        for odd in (ODD[number % len(ODD)], ODD[(number + 3) % len(ODD)]):
            changed: Any = copy.deepcopy(inputs)
            inner = changed
            for key in place[:-1]:
                inner = inner[key]
            inner[place[-1]] = odd
            signed = envelope.sign(subjects, changed, OTHER_KEY)
            changed_zip = container.write(whole | {envelope.NAME: signed})
            report = verifying.verify(changed_zip)
            assert report.key == THEIRS, (place, odd)
            assert verifying.verify(changed_zip, trusted={OURS}).problems


@pytest.mark.parametrize("name", ["runs", "series", "raw"])
def test_nothing_is_read_twice(members: dict[str, bytes], name: str) -> None:
    subjects, inputs, _ = envelope.verify(members[envelope.NAME])
    inputs[name] += inputs[name][:1]
    signed = envelope.sign(subjects, inputs, KEY)
    assert problems(container.write(members | {envelope.NAME: signed})) == {("form", envelope.NAME)}


def test_rules_of_another_version_are_said(members: dict[str, bytes]) -> None:
    subjects, inputs, _ = envelope.verify(members[envelope.NAME])
    inputs["rules"]["flags"] = 99
    signed = envelope.sign(subjects, inputs, KEY)
    report = verifying.verify(container.write(members | {envelope.NAME: signed}))
    assert [one.code for one in report.problems] == ["rules"]
    assert report.unknown_rules.startswith("flags 99")


def test_raw_output_that_nothing_reads_is_named() -> None:
    raw = raw_files()
    inputs = inputs_of(raw)
    members = container.read(verifying.seal(inputs, raw, KEY))
    raw["raw/1-r.csv"] = b"nothing\n"
    subjects = {name: verifying.hashlib.sha256(data).hexdigest() for name, data in raw.items()}
    signed = envelope.sign(subjects, inputs, KEY)
    data = container.write(members | raw | {envelope.NAME: signed})
    assert problems(data) == {("unreadable", "raw/1-r.csv")}


def test_too_many_numbers(monkeypatch: pytest.MonkeyPatch, whole: bytes) -> None:
    monkeypatch.setattr("fsbench_web.core.sealed.numbers.MOST_NUMBERS", 3)
    assert problems(whole) == {("too_many_numbers", "")}


def test_numbers_of_no_raw_file_are_counted() -> None:
    raw = raw_files()
    inputs = inputs_of(raw)
    row = ["device_writes", "", "KB", None, None, 12.5, None, [1.0, 2.0]]
    inputs["runs"][0]["numbers"].append({"stated": [row]})
    report = verifying.verify(verifying.seal(inputs, raw, KEY))
    assert (report.problems, report.stated) == ([], 1)
    assert TABLE % 100 in raw.values()
