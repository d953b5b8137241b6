"""Kernels that a tool's output names: proposed in the preview, and nowhere taken unasked."""

import io

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from fsbench_web.accounts.models import Person, Role
from fsbench_web.core.formats import parse
from fsbench_web.imports.models import ImportFile
from fsbench_web.imports.sources import Target
from fsbench_web.imports.storing.commit import import_uploads
from fsbench_web.studies.models import Series
from tests.core.formats.conftest import SAMPLES


def sample(name: str) -> bytes:
    return (SAMPLES / f"{name}.txt").read_bytes()


def composite(*kernels: str) -> bytes:
    """The sample's file with another kernel for each of its two systems."""
    first, second, last = sample("phoronix-composite").split(b"Kernel: 6.1.0 ")
    words = [f"Kernel: {kernel} ".encode() if kernel else b"" for kernel in kernels]
    return first + words[0] + second + words[1] + last


@pytest.mark.parametrize(
    ("kernels", "printed"),
    [
        (("6.1.0", "6.1.0"), ("6.1.0",)),
        (("6.8.0-31-generic", "6.12.9+bpo-amd64"), ("6.8.0-31-generic", "6.12.9+bpo-amd64")),
        (("", "6.1.0"), ("6.1.0",)),
        (("<b>", "../6"), ()),
    ],
)
def test_phoronix_names_those_of_its_systems(
    kernels: tuple[str, str], printed: tuple[str, ...]
) -> None:
    words = [kernel.replace("<", "&lt;") for kernel in kernels]
    assert parse("composite.xml", composite(*words)).printed_kernels == printed


def test_its_table_names_them_too() -> None:
    assert parse("x.csv", sample("phoronix-csv")).printed_kernels == ("6.1.0",)


@pytest.mark.parametrize(
    ("line", "printed"),
    [
        (b"\tMachine = Linux lab 6.1.0-37-amd64 #1 SMP x86_64\n", ("6.1.0-37-amd64",)),
        (b"\tMachine = FreeBSD lab 14.1 amd64\n", ()),
        (b"\tMachine = Linux\n", ()),
        (b"", ()),
    ],
)
def test_iozone_names_that_of_its_machine(line: bytes, printed: tuple[str, ...]) -> None:
    head, mark, rest = sample("iozone-3.489-all-tests").partition(b"\tCommand line used")
    assert mark
    assert parse("x", head + line + mark + rest).printed_kernels == printed


@pytest.fixture
def previewed(client: Client, db: None) -> Client:
    user = User.objects.create_user("jo", password="pass word 1234")
    Person.objects.filter(user=user).update(role=Role.CONTRIBUTOR)
    client.force_login(user)
    return client


@pytest.mark.parametrize(
    ("kernels", "said", "field", "is_guess"),
    [
        (("6.1.0", "6.1.0"), "", "6.1.0", True),
        (("6.1.0", "6.1.0"), "6.12.9", "6.12.9", False),
        (("6.1.0", "6.12.9"), "", "", False),
    ],
    ids=["one", "said", "several"],
)
def test_a_preview_proposes_it(
    previewed: Client, kernels: tuple[str, str], said: str, field: str, is_guess: bool
) -> None:
    upload = SimpleUploadedFile("composite.xml", composite(*kernels))
    fields = {"study": "Lab", "filesystem": "ext4", "kernel": said, "file": upload}
    page = previewed.post("/imports/new/", fields, follow=True)
    text = page.content.decode()
    [row] = ImportFile.objects.all()
    assert row.given["kernel"] == field
    assert ("Kernel 6.1.0 is what the output says of its system." in text) is is_guess


def test_what_nobody_confirms_parts_nothing(db: None) -> None:
    """A call that shows no preview stores what is said, as before."""
    file = ("composite.xml", io.BytesIO(composite("6.1.0", "6.1.0")))
    import_uploads([file], Target("Lab", "ext4", "a"), None)
    assert set(Series.objects.values_list("kernel", flat=True)) == {""}
