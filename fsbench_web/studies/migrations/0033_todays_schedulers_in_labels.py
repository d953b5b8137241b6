"""Labels say ``none`` and ``mq-deadline`` where runs of today were labelled ``noop`` and ``dl``.

What a paper printed or somebody imported keeps its word, as a configuration of its own where both
were one row: the same facts, and the label in its digest (catalog.configurations.records).
"""

import hashlib
import json
from typing import Any

from django.db import migrations

WORDS = {"noop": "none", "dl": "mq-deadline"}
FACTS = ("filesystem", "options", "scheduler", "external_journal", "is_known")


def digest_of(row: Any, **more: str) -> str:
    identity = {name: getattr(row, name) for name in FACTS} | more
    if row.stack:
        identity["stack"] = row.stack
    text = json.dumps(identity, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def key_of(one: Any) -> str:
    """As studies.series makes it."""
    identity: list[Any] = [
        *(one.study_id, one.configuration_id, one.workload_id, one.hardware_id, one.lun_id),
        *(one.kernel, one.distribution),
    ]
    if one.preparation:
        identity.append(dict(sorted(one.preparation.items())))
    if one.journal_lun_id is not None:
        identity.append(["journal", one.journal_lun_id])
    if one.machine:
        identity.append(["machine", dict(sorted(one.machine.items()))])
    return hashlib.sha256(json.dumps(identity).encode()).hexdigest()


def relabel(apps: Any, schema_editor: Any) -> None:
    configurations = apps.get_model("catalog", "FilesystemConfiguration").objects
    series = apps.get_model("studies", "Series").objects
    for row in configurations.filter(is_known=True, scheduler__in=WORDS.values()):
        printed = row.label
        label = "_".join(WORDS.get(word, word) for word in printed.split("_"))
        if label == printed:
            continue
        of_row = series.filter(configuration=row)
        measured = of_row.filter(runs__origin="measured").values("pk")
        others = of_row.exclude(pk__in=measured)
        if others.exists() and not measured.exists():
            # The row itself, so that watches stay with it.
            row.digest = digest_of(row, label=printed)
            row.save(update_fields=["digest"])
            continue
        if others.exists():
            kept = configurations.create(
                digest=digest_of(row, label=printed),
                label=printed,
                stack=row.stack,
                **{name: getattr(row, name) for name in FACTS},
            )
            for one in others:
                one.configuration = kept
                one.key = key_of(one)
                one.save(update_fields=["configuration", "key"])
        row.label = label
        row.save(update_fields=["label"])


class Migration(migrations.Migration):
    dependencies = [
        ("studies", "0032_shares"),
        ("catalog", "0009_stacks"),
    ]
    operations = [migrations.RunPython(relabel, migrations.RunPython.noop)]
