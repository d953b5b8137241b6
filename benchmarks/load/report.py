"""What is printed of a site under load: latencies and processors."""

from itertools import chain

from benchmarks.load.clients import RequestLog

LIMIT_MS = 500


def share(values: list[float], part: float) -> float:
    return sorted(values)[min(len(values) - 1, int(part * len(values)))]


def report(seen: RequestLog, seconds: float) -> bool:
    """Print latencies; whether all are within the limit."""
    head = f"{'requests':>9}{'errors':>8}{'a second':>9}{'p50':>7}{'p95':>7}{'p99':>7}{'worst':>7}"
    print(
        f"{'':18}{head}  ms   p95 under {LIMIT_MS} ms   p95 beside uploads / between (share beside)"
    )
    by_kind = {**dict(sorted(seen.requests.items())), "all": [*chain(*seen.requests.values())]}
    is_beside = seen.is_beside_uploads()
    is_fast = True
    for kind, requests in by_kind.items():
        took = [took_ms for _, took_ms in requests]
        errors = sum(kind == "all" or sentence.startswith(kind) for sentence in seen.failures)
        percentiles = "".join(f"{share(took, part):7.0f}" for part in (0.5, 0.95, 0.99, 1))
        verdict = "yes" if share(took, 0.95) < LIMIT_MS else "NO"
        is_fast &= share(took, 0.95) < LIMIT_MS
        beside = [request[1] for request in requests if is_beside(request)]
        between = [request[1] for request in requests if not is_beside(request)]
        parts = " / ".join(
            f"{share(part, 0.95):.0f}" if part else "–" for part in (beside, between)
        )
        print(
            f"{kind:18}{len(took):9}{errors:8}{len(took) / seconds:9.1f}{percentiles}"
            f"       {verdict:16}{parts} ({len(beside) / len(took):.0%})"
        )
    return is_fast


def report_use(before: dict[str, float], after: dict[str, float], seconds: float) -> None:
    used = {kind: after[kind] - before.get(kind, 0.0) for kind in after}
    rates = ", ".join(f"{kind} {took / seconds:.2f}" for kind, took in used.items())
    print(f"processors in use: {rates}; together {sum(used.values()) / seconds:.2f}")
