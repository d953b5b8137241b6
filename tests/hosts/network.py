"""Hosts on one machine: network namespaces on a bridge, whose links can be cut (ip-netns(8)).

Only the network is theirs. Disks, processes and files are those of the machine.
"""

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tests.services.process import program


def ip(*arguments: str, check: bool = True) -> None:
    done = subprocess.run([program("ip", "iproute2"), *arguments], capture_output=True, text=True)
    assert not check or done.returncode == 0, f"ip {' '.join(arguments)}: {done.stderr}"


class Network:
    """``address`` is the bridge's, where the shared services listen."""

    def __init__(self, hosts: int) -> None:
        number = os.getpid() % 10_000
        self._tag, self.bridge = f"{number}", f"fsb{number}"
        # Of their own too: a second run on this machine, or what one left that was killed, would
        # take the answers away from the same addresses.
        self._net = f"10.{214 + number // 250}.{number % 250}"
        self.address, self.range = f"{self._net}.1", f"{self._net}.0/24"
        self.hosts = [f"fsbench-{self._tag}-{index}" for index in range(hosts)]

    def up(self) -> None:
        ip("link", "add", self.bridge, "type", "bridge")
        ip("address", "add", f"{self.address}/24", "dev", self.bridge)
        ip("link", "set", self.bridge, "up")
        for index, host in enumerate(self.hosts):
            outer, inner = self._link(index), f"fsi{self._tag}-{index}"
            ip("netns", "add", host)
            ip("link", "add", outer, "type", "veth", "peer", "name", inner)
            ip("link", "set", inner, "netns", host)
            ip("link", "set", outer, "master", self.bridge, "up")
            ip("-n", host, "link", "set", "lo", "up")
            ip("-n", host, "address", "add", f"{self._net}.{10 + index}/24", "dev", inner)
            ip("-n", host, "link", "set", inner, "up")
        time.sleep(0.5)  # the bridge's ports begin to forward

    def down(self) -> None:
        for index, host in enumerate(self.hosts):
            ip("link", "delete", self._link(index), check=False)
            ip("netns", "delete", host, check=False)
        ip("link", "delete", self.bridge, check=False)

    def _link(self, index: int) -> str:
        return f"fsb{self._tag}-{index}"

    def on(self, index: int) -> list[str]:
        """What to put before a command so that it runs on a host. No process of its own stays."""
        return [program("nsenter", "util-linux"), f"--net=/run/netns/{self.hosts[index]}", "--"]

    def cut(self, index: int) -> None:
        """Nothing passes any more, and nobody is told."""
        ip("link", "set", self._link(index), "down")

    def heal(self, index: int) -> None:
        ip("link", "set", self._link(index), "up")


@contextmanager
def network(hosts: int) -> Iterator[Network]:
    lan = Network(hosts)
    try:
        lan.up()
        yield lan
    finally:
        lan.down()
