import tempfile
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import CommandError

from fsbench_web.platform.commands import SiteCommand
from runner.config import guest_kernels, read_config
from runner.guests import kernel_packages, kernels, zfs_modules
from runner.guests.apt import FetchError, KernelPackage


class Command(SiteCommand):
    help = (
        "Fetch a kernel for guests through apt: a package of the distribution, into the folder "
        "that this host's worker boots from. Nothing is installed, and apt's own lists stay as "
        "they are."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "package",
            nargs="?",
            default="",
            help="such as linux-image-6.1.0-50-amd64; without: the distribution's kernel of today",
        )
        parser.add_argument(
            "--with-zfs",
            action="store_true",
            help="build OpenZFS for it as well, by the distribution's DKMS in a container of the "
            "benchmark image: some minutes, once for each kernel",
        )
        parser.add_argument(
            "--list", action="store_true", help="say what is there, and what apt has"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            folder = guest_kernels()
            if options["list"]:
                self._list(folder)
            else:
                self._fetch(folder, options["package"], options["with_zfs"])
        except (ImproperlyConfigured, FetchError) as error:
            raise CommandError(str(error)) from None

    def _fetch(self, folder: Path, package: str, with_zfs: bool) -> None:
        text = ""

        def on_progress(step: str, share: float | None) -> None:
            nonlocal text
            if step != text:
                text = step
                self.stdout.write(f"{step} …")

        paths = {package.path for package in _packages(folder)}
        path = kernel_packages.fetch(folder, package, on_progress=on_progress)
        if path in paths:
            self.stdout.write(f"{path} is there already.")
        else:
            self.stdout.write(f"{path} is there now.")
        if with_zfs and zfs_modules.has_zfs(path):
            self.stdout.write("OpenZFS was built for it already.")
        elif with_zfs:
            path = zfs_modules.build(read_config().image, path, on_progress)
            self.stdout.write(f"{path} has OpenZFS now.")
        self.stdout.write(
            "The worker of this host finds it within seconds, boots it once when no run is being "
            "measured, and its page says which file systems it mounts. Then choose a guest as the "
            "executor of a run."
        )

    def _list(self, folder: Path) -> None:
        packages = _packages(folder)
        self.stdout.write(f"In {folder}:" if packages else f"In {folder} there is no kernel.")
        for package in packages:
            self.stdout.write(f"  {package.name}")
        with tempfile.TemporaryDirectory(prefix="fsbench-apt-") as work:
            current, available = kernel_packages.available(Path(work))
        self.stdout.write(f"apt has ({current.name} is fetched where no package is named):")
        for kernel_package in available:
            self.stdout.write(f"  {_line(kernel_package)}")


def _packages(folder: Path) -> list[kernels.Package]:
    try:
        return kernels.packages_in(folder)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise FetchError(f"{folder} cannot be read: {error.strerror}.") from None


def _line(package: KernelPackage) -> str:
    return f"{package.name} ({package.version}, {package.size_bytes / 2**20:.0f} MiB)"
