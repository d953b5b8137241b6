"""A study as a sealed file, and the public keys that this installation signs with."""

from typing import Any, Literal

from django.http import HttpRequest, HttpResponse
from ninja import Schema

from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.api.protocol.errors import Refused
from fsbench_web.api.protocol.router import Router, binary
from fsbench_web.api.results.comparison import refused_as_json
from fsbench_web.api.results.studies import study_or_404
from fsbench_web.imports.models import SigningKey
from fsbench_web.imports.sealed import inputs, keys
from fsbench_web.renderings import answers

router = Router()
_ZIP = "application/zip"


class SigningKeyOut(Schema):
    """``key`` is the SHA-256 of the public key, a PEM. Trust files of a retired key too."""

    key: str
    state: Literal["active", "retired", "revoked"]
    public_key: str
    created_at: str


class SigningKeysOut(Schema):
    """Newest first."""

    keys: list[SigningKeyOut]


@router.get(
    "/studies/{str:slug}/sealed.zip",
    summary="Runs of a study with raw output, signed",
    openapi_extra=binary(_ZIP),
)
@requires(Action.READ)
def get_sealed_file(request: HttpRequest, slug: str) -> HttpResponse:
    """An RO-Crate (Process Run Crate) with `raw/`, `tables/*.parquet` and a signed attestation of
    the raw output. `fsbench verify` checks it without this site. At most 40 MB of raw output.
    """
    study = study_or_404(slug)
    try:
        key, (facts, contents, stored) = keys.ensure(), inputs.gathered(study)
    except (inputs.NotSealable, keys.KeyUnusable) as error:
        raise Refused(422, [(None, str(error))]) from None
    answer = answers.answer(
        request,
        inputs.write,
        *(facts, contents, stored, str(keys.path())),
        cache_key=(key.key_id, facts, contents, stored),
        media_type=_ZIP,
        disposition=f'attachment; filename="{slug}-sealed.zip"',
    )
    return refused_as_json(answer)


@router.get("/keys", response=SigningKeysOut, summary="Keys of sealed files")
@requires(Action.READ)
def list_signing_keys(request: HttpRequest) -> dict[str, Any]:
    """The public keys that this installation signs sealed files with, or did."""
    rows = SigningKey.objects.all()[:1000]
    return {
        "keys": [
            {
                "key": row.key_id,
                "state": row.state,
                "public_key": row.public_pem,
                "created_at": row.created_at.isoformat(),
            }
            for row in rows
        ]
    }
