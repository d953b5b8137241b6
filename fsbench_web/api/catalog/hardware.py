"""What is measured on and with: LUNs, hardware, file systems, configurations."""

from typing import Annotated, Any, Literal

from django.db import transaction
from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse
from ninja import Query, Schema
from pydantic import Field

from fsbench_web.accounts import audit, rights
from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.api.catalog.workers import WorkerLun, lun_row
from fsbench_web.api.protocol.errors import Refused
from fsbench_web.api.protocol.router import Router
from fsbench_web.api.protocol.schemas import (
    Derived,
    IsThere,
    Lookup,
    Page,
    Strict,
    With,
    found,
    list_of,
    page,
    page_of,
    value_at,
)
from fsbench_web.api.results.studies import ConfigurationOut, HardwareOut
from fsbench_web.catalog.configurations.filesystems import ON_LUNS, Option
from fsbench_web.catalog.hardware import device_rate, use
from fsbench_web.catalog.models import FilesystemConfiguration, HardwareProfile
from fsbench_web.catalog.workers.states import luns_with_use, worker_states
from fsbench_web.core.activity.costs import USUAL_YEARS, Price
from fsbench_web.studies.activity import pricing
from fsbench_web.studies.models import UNTRACED, RunState

router = Router()


class LunOut(WorkerLun):
    """``granted``: whether you may submit runs on it. ``identity`` is what a person knows it by,
    without paths of the host where you may not.
    """

    worker: str = value_at("worker.name")
    worker_state: str
    identity: list[Any] = value_at("shown_identity")
    granted: bool


class PriceOut(Derived, of=Price):
    """What all of it cost, spread evenly over so many ``years`` of use, as somebody stated it."""


class HardwareSummary(HardwareOut):
    """``deliverable_kb_s`` is what its storage can deliver at most, as somebody stated it;
    ``price`` is null where nobody stated one.
    """

    deliverable_kb_s: float | None
    price: PriceOut | None
    studies: int
    links: dict[str, str]


class StudyOnHardwareOut(Schema):
    slug: str
    title: str
    is_published: bool
    configurations: int = value_at("configuration_count")
    runs: int = value_at("run_count")


class HardwareDetail(HardwareSummary):
    used_by: list[StudyOnHardwareOut]
    workers: list[str]


class DeviceRateIn(Strict):
    rate: str = Field(max_length=60, examples=["200MB/s", "1.5GB/s", "unknown"])


class PriceIn(Strict):
    """``amount`` null: not known."""

    amount: float | None = Field(gt=0, le=1e12)
    currency: Literal["EUR", "USD", "GBP", "CHF"] = "EUR"
    years: float = Field(USUAL_YEARS, ge=0.5, le=50)


_OF_COMMANDS = ("command", "label_template", "values", "is_joined", "usual")


class OptionOut(Derived, of=Option, without=_OF_COMMANDS):
    """``choices`` are all values, or ``minimum`` and ``maximum`` bound a whole number."""

    choices: list[str]

    @staticmethod
    def resolve_choices(option: Option) -> list[str]:
        return [choice.value for choice in option.choices]


class FilesystemOut(Schema):
    """``external_journal``: it can keep its journal on another LUN."""

    slug: str
    name: str
    minimum_bytes: int
    package: str = value_at("tool_package")
    external_journal: IsThere = value_at("journal")
    notes: str
    options: list[OptionOut]


class ConfigurationFilters(Page):
    filesystem: Annotated[str, Lookup("filesystem")] = Field("", description="ext4, xfs, ...")


@router.get("/luns", response=list_of("LunsOut", luns=LunOut), summary="All LUNs")
@requires(Action.READ)
def list_luns(request: HttpRequest) -> dict[str, Any]:
    """What workers' own files list as free to erase, with what uses it now."""
    return {
        "luns": [
            lun_row(
                state,
                lun,
                worker=state.worker,
                worker_state=state.state,
                granted=rights.may_run_here_on(lun.pk),
            )
            for state in worker_states(luns_with_use())
            for lun in state.luns
            if lun.is_listed
        ]
    }


@router.get(
    "/hardware", response=list_of("HardwareList", hardware=HardwareSummary), summary="Hardware"
)
@requires(Action.READ)
def list_hardware(request: HttpRequest) -> dict[str, Any]:
    """All profiles, with how many studies are of each."""
    studies = use.study_counts()
    return {
        "hardware": [
            _profile(row, studies.get(row.pk, 0))
            for row in HardwareProfile.objects.order_by("name", "pk")
        ]
    }


@router.get("/hardware/{slug:slug}", response=HardwareDetail, summary="One hardware profile")
@requires(Action.READ)
def get_hardware(request: HttpRequest, slug: str) -> With:
    """Its facts, the studies on it, the workers that are it."""
    return _detail(_profile_or_404(slug))


@router.put(
    "/hardware/{slug:slug}/device-rate",
    response=HardwareDetail,
    summary="State what its storage can deliver",
)
@requires(Action.PROVIDE)
def state_device_rate(request: HttpRequest, slug: str, stated: DeviceRateIn) -> With:
    """Rates above it are flagged `above_device` from now on. For administrators."""
    profile = _profile_or_404(slug)
    try:
        rate = device_rate.parse(stated.rate)
    except ValueError as error:
        raise Refused(422, [("rate", str(error))]) from None
    with transaction.atomic():
        HardwareProfile.objects.filter(pk=profile.pk).update(deliverable_kb_s=rate)
        audit.note_here("device rate stated", f"hardware {slug}", kb_s=rate)
    return _detail(_profile_or_404(slug))


@router.put("/hardware/{slug:slug}/price", response=HardwareDetail, summary="State what it cost")
@requires(Action.PROVIDE)
def state_price(request: HttpRequest, slug: str, stated: PriceIn) -> With:
    """All finished runs on it get new prices: `price_eur_per_million_operations` and the like.

    For administrators.
    """
    profile = _profile_or_404(slug)
    price = Price(stated.amount, stated.currency, stated.years) if stated.amount else None
    with transaction.atomic():
        pricing.state_price(profile, price)
        audit.note_here(
            "hardware price stated", f"hardware {slug}", price=vars(price) if price else None
        )
    return _detail(_profile_or_404(slug))


@router.get(
    "/filesystems",
    response=list_of("FilesystemsOut", filesystems=FilesystemOut),
    summary="File systems and options",
)
@requires(Action.READ)
def list_filesystems(request: HttpRequest) -> dict[str, Any]:
    """The closed lists that jobs choose from."""
    return {"filesystems": list(ON_LUNS.values())}


@router.get(
    "/configurations",
    response=page_of("ConfigurationsOut", configurations=ConfigurationOut),
    summary="Configurations",
)
@requires(Action.READ)
def list_configurations(
    request: HttpRequest, response: HttpResponse, filters: Query[ConfigurationFilters]
) -> dict[str, Any]:
    """All file system configurations that were run or imported, with the runs you may see."""
    seen = ~Q(series__study__in=rights.hidden_studies())
    seen &= Q(series__runs__tracing=UNTRACED)
    done = Q(series__runs__state=RunState.DONE)
    configurations = (
        FilesystemConfiguration.objects.annotate(
            runs=Count("series__runs", filter=seen),
            runs_done=Count("series__runs", filter=seen & done),
        )
        .filter(runs__gt=0)
        .order_by("filesystem", "label", "pk")
    )
    return page(request, response, configurations, filters, "configurations")


def _profile_or_404(slug: str) -> HardwareProfile:
    rows = HardwareProfile.objects.filter(slug=slug)
    return found(rows, f'There is no hardware "{slug[:60]}"; /api/v1/hardware lists all.')


def _profile(row: HardwareProfile, studies: int, **more: Any) -> With:
    links = {"self": f"/api/v1/hardware/{row.slug}", "page": f"/hardware/{row.slug}/"}
    return With(row, price=pricing.price_of(row), studies=studies, links=links, **more)


def _detail(row: HardwareProfile) -> With:
    return _profile(
        row,
        use.study_counts().get(row.pk, 0),
        used_by=use.studies_on(row),
        workers=list(row.worker_set.order_by("name").values_list("name", flat=True)),
    )
