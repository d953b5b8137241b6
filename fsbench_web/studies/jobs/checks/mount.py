"""A file system that a host has mounted has the options of its mount. No HTTP here."""

from dataclasses import replace

from fsbench_web.catalog.configurations.labels import configuration_label
from fsbench_web.catalog.models import Lun
from fsbench_web.catalog.workers import availability
from fsbench_web.studies.jobs.spec import ConfigurationSpec, Problems


def as_mounted(
    wanted: ConfigurationSpec, lun: Lun | None, problems: Problems
) -> ConfigurationSpec | None:
    """The configuration with the options of the mount; as it is on every other LUN.

    None where others are asked for, which is a problem. Its own are validated.
    """
    found = availability.mounted(lun) if lun is not None else None
    if lun is None or found is None:
        return wanted
    options = dict(found.options)
    if wanted.options and wanted.options != options:
        label = configuration_label(found.filesystem, options)
        problems.add(
            wanted.place("options"),
            f"{lun.name} is mounted as {label}: leave the options out, which are those of the "
            "mount, or have its host mount it otherwise.",
        )
        return None
    return replace(wanted, options=options) if found.filesystem == wanted.filesystem else wanted
