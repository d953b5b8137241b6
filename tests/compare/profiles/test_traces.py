"""A trace becomes the form of a profile, and nothing of it is stored."""

import io

import pytest
from django.test import Client

from fsbench_web.accounts.models import Role
from fsbench_web.compare.models import WorkProfile
from tests.accounts.people import person
from tests.core.traces.test_reading import sample

pytestmark = pytest.mark.django_db


@pytest.fixture
def client() -> Client:
    client = Client()
    client.force_login(person(Role.CONTRIBUTOR, "ada"))
    return client


def test_an_uploaded_trace_is_shown_as_parts_to_be_corrected(client):
    file = io.BytesIO(sample("threads.strace"))
    file.name = "secret-name.strace"
    answer = client.post("/profiles/read/", {"trace": file, "by": "bytes", "file": "1g"})
    page = answer.content.decode()
    assert answer.status_code == 200
    assert "not saved yet" in page
    assert 'value="random_read"' in page
    assert 'value="128k"' in page
    assert "secret-name" not in page
    assert not WorkProfile.objects.exists()


def test_pasted_text_is_read_as_well(client):
    text = "operation,block,file,count\nrandom_read,8k,4g,3\n"
    page = client.post("/profiles/read/", {"text": text}).content.decode()
    assert 'value="4g"' in page


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        ({}, "Choose a file, or paste"),
        ({"text": "fio version 2 iolog\nbad\n"}, "Line 2: it is not an action"),
        ({"text": "operation,block,count\nread,8k,1\n", "file": "huge"}, "The size of files is"),
        ({"text": "operation,block,count\nread,8k,1\n", "by": "time"}, "says no times here"),
    ],
)
def test_a_refusal_says_why_and_keeps_the_page(client, sent, words):
    answer = client.post("/profiles/read/", sent)
    assert answer.status_code == 422
    assert words in answer.content.decode()
