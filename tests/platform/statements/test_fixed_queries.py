"""SELECTs whose text is made once give what Django's own queries give."""

import pytest
from django.contrib.auth.models import User
from django.db import connection, models, transaction

from fsbench_web.accounts import tokens
from fsbench_web.accounts.models import ApiToken
from fsbench_web.catalog.models import FilesystemConfiguration
from fsbench_web.platform.statements.fixed_queries import FixedQuery, fields_of, find, object_of
from fsbench_web.studies.models import Run, Series, Study

pytestmark = pytest.mark.django_db


def columns(row: models.Model) -> dict[str, object]:
    return {field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields}


@pytest.fixture
def series() -> Series:
    study = Study.objects.create(slug="lab", title="Lab 100 %", sections=[{"text": "ä"}])
    configuration = FilesystemConfiguration.objects.create(
        digest="d", label="ext4", filesystem="ext4", options={"journal": True}
    )
    return Series.objects.create(
        key="k", study=study, configuration=configuration, machine={"memory": 1}, quality=None
    )


@pytest.mark.parametrize(
    ("model", "name", "value"),
    [
        (Series, "key", "k"),
        (Study, "slug", "lab"),
        (FilesystemConfiguration, "digest", "d"),
    ],
)
def test_a_row_is_found_as_django_finds_it(
    model: type[models.Model], name: str, value: str, series: Series
) -> None:
    expected = model._base_manager.get(**{name: value})
    with transaction.atomic():
        for is_locked in (False, True):
            row = find(model, name, value, is_locked=is_locked)
            assert row == expected
            assert row is not None
            assert columns(row) == columns(expected)
    assert (row._state.adding, row._state.db) == (False, "default")
    assert find(model, name, "none") is None


def test_a_token_comes_with_its_user(django_assert_num_queries) -> None:  # type: ignore[no-untyped-def]
    user = User.objects.create_user("ada", "ada@example.org", "x", last_name="L")
    row, token = tokens.create(user, "laptop", can_run=False)
    tokens.row_of(token)  # notes its use
    with django_assert_num_queries(1):
        api_token = tokens.row_of(token)
        assert api_token is not None
        assert api_token.user.username == "ada"
    assert columns(api_token) == columns(ApiToken.objects.get(pk=row.pk))
    assert columns(api_token.user) == columns(User.objects.get(pk=user.pk))


def test_some_columns_of_many_rows(series: Series, django_assert_num_queries) -> None:  # type: ignore[no-untyped-def]
    runs = [
        Run.objects.create(series=series, repeat=repeat, conditions={"n": repeat}, block="b")
        for repeat in (1, 2, 3)
    ]
    fields = fields_of(Run, "repeat", "id", "conditions", "is_contended")
    query = FixedQuery([*fields, "1 + 1"], "FROM studies_run WHERE block = %s AND id IN ({many})")
    rows = query.rows("b", many=[runs[0].pk, runs[2].pk])
    partial_runs = [object_of(Run, fields, row[:-1]) for row in rows]
    assert [row[-1] for row in rows] == [2, 2]
    with django_assert_num_queries(0):
        assert sorted((run.repeat, run.conditions["n"]) for run in partial_runs) == [(1, 1), (3, 3)]
        assert all(run.is_contended in (None, False) for run in partial_runs)
    with django_assert_num_queries(1):
        assert partial_runs[0].block == "b"  # read when it is asked for


@pytest.mark.django_db(transaction=True)
def test_no_row_is_locked_without_a_transaction(series: Series) -> None:
    assert connection.in_atomic_block is False
    with pytest.raises(AssertionError):
        find(Series, "key", "k", is_locked=True)
