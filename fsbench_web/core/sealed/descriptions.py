"""What a sealed file says of itself to other programs: RO-Crate and Frictionless. Pure.

Both follow from the attestation and the tables, so a check writes them again and compares.
Sources: Process Run Crate 0.5 (w3id.org/ro/wfrun/process/0.5), Data Package 1
(specs.frictionlessdata.io).
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from fsbench_web.core.number_tables import COLUMNS, UNITS, schema_of
from fsbench_web.core.sealed import envelope

CRATE, PACKAGE = "ro-crate-metadata.json", "datapackage.json"
_PROFILE = "https://w3id.org/ro/wfrun/process/0.5"
_CRATE_1_1 = "https://w3id.org/ro/crate/1.1"
_PARQUET = "application/vnd.apache.parquet"
_KINDS = {"string": "string", "int64": "number", "double": "number"}
"""By types of Arrow. Frictionless reads a column with missing whole numbers as reals."""


def stated_digests(package: bytes) -> dict[str, str]:
    """The SHA-256 of each table as a Data Package states it; none where it is none."""
    try:
        rows = [(row["path"], row["hash"]) for row in json.loads(package)["resources"]]
        return {str(path): str(text).removeprefix("sha256:") for path, text in rows}
    except (ValueError, KeyError, TypeError, RecursionError):
        return {}


def path_of(table: str) -> str:
    """The member that holds a table."""
    return f"tables/{table}.parquet"


def written(
    inputs: Mapping[str, Any], subjects: Mapping[str, str], tables: Mapping[str, bytes]
) -> dict[str, bytes]:
    """Both descriptions, by name; ``tables`` by their names in COLUMNS."""
    return {
        CRATE: _json(_crate(inputs, subjects, tables)),
        PACKAGE: _json(_package(inputs, tables)),
    }


def _json(value: Any) -> bytes:
    return json.dumps(value, indent=1, sort_keys=True, allow_nan=False).encode() + b"\n"


def _kind(arrow: str) -> str:
    return "datetime" if arrow.startswith("timestamp") else _KINDS.get(arrow, "any")


def _package(inputs: Mapping[str, Any], tables: Mapping[str, bytes]) -> dict[str, Any]:
    study = inputs["study"]
    return {
        "profile": "data-package",
        "name": study["slug"],
        "title": study["title"],
        "resources": [
            {
                "name": name,
                "path": path_of(name),
                "format": "parquet",
                "mediatype": _PARQUET,
                "hash": f"sha256:{hashlib.sha256(data).hexdigest()}",
                "schema": {
                    "fields": [
                        {"name": field.name, "type": _kind(str(field.type))}
                        | ({"description": UNITS[field.name]} if field.name in UNITS else {})
                        for field in schema_of(COLUMNS[name])
                    ]
                },
            }
            for name, data in tables.items()
        ],
    }


def _crate(
    inputs: Mapping[str, Any], subjects: Mapping[str, str], tables: Mapping[str, bytes]
) -> dict[str, Any]:
    study, tool = inputs["study"], f"#fsbench-{inputs['fsbench']}"
    ends = [run["date"] for run in inputs["runs"] if run["date"]]
    raw = {row["path"]: row for row in inputs["raw"]}
    files = [*subjects, envelope.NAME, PACKAGE, *map(path_of, tables)]
    actions = [_action(run) for run in inputs["runs"]]
    workloads = {run["workload"] or "unknown": run["tool"] for run in inputs["runs"]}
    license_text = study["licence"] or "No licence is stated: ask who measured it."
    graph: list[dict[str, Any]] = [
        {
            "@id": CRATE,
            "@type": "CreativeWork",
            "conformsTo": {"@id": _CRATE_1_1},
            "about": {"@id": "./"},
        },
        {
            "@id": "./",
            "@type": "Dataset",
            "name": study["title"],
            "description": f"Runs of the study {study['title']}, sealed by fsbench.",
            "datePublished": max(ends, default="1970-01-01T00:00:00+00:00"),
            "license": license_text,
            "conformsTo": {"@id": _PROFILE},
            "hasPart": [{"@id": name} for name in files],
            "mentions": [{"@id": action["@id"]} for action in actions],
        },
        {"@id": _PROFILE, "@type": "CreativeWork", "name": "Process Run Crate", "version": "0.5"},
        {
            "@id": tool,
            "@type": "SoftwareApplication",
            "name": "fsbench",
            "softwareVersion": inputs["fsbench"],
        },
        *(
            {
                "@id": f"#workload-{slug}",
                "@type": "SoftwareApplication",
                "name": slug,
                "description": f"Workload {slug} of the tool {kind or 'unknown'}.",
            }
            for slug, kind in sorted(workloads.items())
        ),
        *actions,
    ]
    for name in files:
        entity = {"@id": name, "@type": "File", "name": name.rpartition("/")[2]}
        if name in raw:
            entity |= {
                "name": raw[name]["name"],
                "encodingFormat": raw[name]["media_type"],
            }
        else:
            entity["encodingFormat"] = _PARQUET if name.endswith(".parquet") else "application/json"
        graph.append(entity)
    return {
        "@context": f"{_CRATE_1_1}/context",
        "@graph": graph,
    }


def _action(run: Mapping[str, Any]) -> dict[str, Any]:
    """One run as a CreateAction: what ran, when it ended, and which files it left."""
    action = {
        "@id": f"#run-{run['run']}",
        "@type": "CreateAction",
        "name": f"Run {run['run']}: {run['configuration']}, repeat {run['repeat']}",
        "description": f"{run['workload'] or 'A benchmark'} on {run['filesystem']}",
        "instrument": {"@id": f"#workload-{run['workload'] or 'unknown'}"},
        "actionStatus": {"@id": "http://schema.org/CompletedActionStatus"},
        "result": [{"@id": part["raw"]} for part in run["numbers"] if "raw" in part],
    }
    return action | ({"endTime": run["date"]} if run["date"] else {})
