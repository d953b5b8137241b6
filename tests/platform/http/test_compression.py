"""Pages travel compressed where the browser takes it; what is not a page is left alone."""

import gzip

import pytest
from django.test import Client

pytestmark = pytest.mark.django_db


def test_a_page_is_compressed_for_who_takes_it() -> None:
    client = Client()
    plain = client.get("/studies/")
    packed = client.get("/studies/", headers={"accept-encoding": "gzip, br"})
    assert not plain.has_header("Content-Encoding")
    assert packed["Content-Encoding"] == "gzip"
    for page in (plain, packed):
        assert "Accept-Encoding" in page["Vary"]
    assert len(packed.content) < len(plain.content)
    assert gzip.decompress(packed.content) == plain.content
    assert int(packed["Content-Length"]) == len(packed.content)


def test_the_same_page_has_not_always_the_same_length() -> None:
    # Who can add words to a page and see its length could otherwise guess what else is on it.
    client = Client()
    lengths = {
        len(client.get("/studies/", headers={"accept-encoding": "gzip"}).content) for _ in range(20)
    }
    assert len(lengths) > 1


def test_the_api_keeps_its_answers_and_strong_etags() -> None:
    answer = Client().get("/api/v1/studies", headers={"accept-encoding": "gzip"})
    assert answer.status_code == 200
    assert not answer.has_header("Content-Encoding")
    assert answer["ETag"].startswith('"')
