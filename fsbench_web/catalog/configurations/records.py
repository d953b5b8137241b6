"""File system configurations by what they are: the same options are one row, made once."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from fsbench_web.catalog.configurations import filesystems, labels
from fsbench_web.catalog.configurations.stacks import PLAIN_SHAPE, LunCounts
from fsbench_web.catalog.models import FilesystemConfiguration


def configuration_for(
    filesystem: str,
    options: Mapping[str, object],
    scheduler: str = "",
    external_journal: bool = False,
    shape: LunCounts = PLAIN_SHAPE,
    keeps_word: bool = False,
) -> FilesystemConfiguration:
    """Get or create the configuration with these options. Raises OptionError.

    Empty values mean the tool's default, an empty ``scheduler`` the host's. ``deadline`` is
    ``mq-deadline`` today; ``keeps_word`` has the label written with the name that is given.
    """
    validated = filesystems.validated_options(filesystem, options)
    if scheduler and scheduler not in filesystems.SCHEDULER_LABELS:
        raise filesystems.OptionError(
            f'"{scheduler}" is not an I/O scheduler fsbench knows: '
            f"{', '.join(filesystems.SCHEDULER_LABELS)}."
        )
    if external_journal:
        filesystems.external_journal(filesystem)
    printed = labels.configuration_label(filesystem, validated, scheduler, external_journal, shape)
    scheduler = labels.canonical_scheduler(scheduler)
    identity: dict[str, Any] = {
        "filesystem": filesystem,
        "options": validated,
        "scheduler": scheduler,
        "external_journal": external_journal,
        "is_known": True,
    }
    if shape != PLAIN_SHAPE:
        # Nothing of the LUN alone: configurations keep the digests that they had before.
        identity["stack"] = shape.stored()
    label = labels.configuration_label(filesystem, validated, scheduler, external_journal, shape)
    if keeps_word and printed != label:
        return _get_or_create({**identity, "label": printed}, printed)
    return _get_or_create(identity, label)


def unknown_configuration(filesystem: str, label: str) -> FilesystemConfiguration:
    """Get or create a configuration with a known file system and label only; it is never run."""
    return _get_or_create({"filesystem": filesystem, "is_known": False, "label": label}, label)


def from_label(label: str, filesystem: str = "") -> FilesystemConfiguration:
    """The configuration that ``label`` names in the paper's grammar (ext3_wb_noatime_dl_xj).

    A scheduler's old word makes a configuration of its own. With an unknown part it is unknown, of
    ``filesystem`` or of what stands before the first underscore.
    """
    parts = labels.parse_label(label)
    if parts is not None and filesystem in ("", parts.filesystem):
        try:
            return configuration_for(
                *(parts.filesystem, parts.options, parts.scheduler, parts.external_journal),
                parts.shape,
                keeps_word=True,
            )
        except filesystems.OptionError:
            pass  # ext2_xj: every word is known, the whole is not possible here
    return unknown_configuration(filesystem or label.split("_")[0], label)


def _get_or_create(identity: dict[str, Any], label: str) -> FilesystemConfiguration:
    # get_or_create on a unique digest is safe when two transactions make the same one at once.
    text = json.dumps(identity, sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(text.encode()).hexdigest()
    configuration, _ = FilesystemConfiguration.objects.get_or_create(
        digest=digest, defaults={**identity, "label": label}
    )
    return configuration
