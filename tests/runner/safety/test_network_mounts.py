"""Mounts that no test meets, from lines that others printed of theirs: SMB, CephFS, Lustre.

Copied as they stand there, from mount(8) (``SOURCE on POINT type KIND (OPTIONS)``) and from
/proc/mounts (``SOURCE POINT KIND OPTIONS 0 0``); who printed one has blanked out what is secret.
None of the three was mounted for this.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from fsbench_web.catalog.configurations import as_mounted
from runner.safety import blockdev, mounts
from runner.safety.blockdev import Mount
from runner.safety.luns import LunEntry

_PRINTED = re.compile(r"(?P<source>\S+) on (?P<point>\S+) type (?P<kind>\S+) \((?P<options>\S+)\)")
_KEPT = re.compile(r"(?P<source>\S+) (?P<point>\S+) (?P<kind>\S+) (?P<options>\S+) 0 0")


@dataclass(frozen=True)
class MountExample:
    """A line of somebody's, and what is to be read from it. ``source`` is where it stands."""

    source: str
    line: str
    filesystem: str
    server: str
    export: str
    address: str = ""
    options: dict[str, str] = field(default_factory=dict)


LINES = (
    # Linux 6.16 and Samba, with its POSIX extensions.
    MountExample(
        "https://lore.kernel.org/linux-cifs/4d0f156024f06daf3e0c3794c3fed854@manguebit.org/",
        "//192.168.124.1/test on /mnt/1 type cifs (rw,relatime,vers=3.1.1,cache=strict,"
        "upcall_target=app,username=testuser,uid=0,noforceuid,gid=0,noforcegid,addr=192.168.124.1,"
        "file_mode=0755,dir_mode=0755,soft,posix,posixpaths,serverino,reparse=nfs,nativesocket,"
        "symlink=unix,rsize=4194304,wsize=4194304,bsize=1048576,retrans=1,echo_interval=60,"
        "actimeo=1,closetimeo=1)",
        *("cifs", "192.168.124.1", "test", "192.168.124.1"),
        {"vers": "3.1.1"},
    ),
    # SMB 1, whose sizes are other ones.
    MountExample(
        "https://github.com/openwrt/packages/issues/795",
        "//192.168.1.12/Harddisk on /mnt/ultimo type cifs (rw,relatime,vers=1.0,cache=strict,"
        "username=guest,domain=WORKGROUP,uid=0,noforceuid,gid=0,noforcegid,addr=192.168.1.12,"
        "unix,posixpaths,serverino,acl,rsize=61440,wsize=65536,actimeo=1)",
        *("cifs", "192.168.1.12", "Harddisk", "192.168.1.12"),
        {"vers": "1.0", "rsize": "61440", "wsize": "65536"},
    ),
    # The name of the file system in the source: Linux 5.17 and newer.
    MountExample(
        "https://lore.kernel.org/ceph-devel/20250114224514.2399813-1-antoine@lesviallon.fr/",
        "services@00000000-0000-0000-0000-000000000000.cephfs=/volumes/containers "
        "/ceph/containers ceph rw,noatime,name=services,secret=<hidden>,ms_mode=prefer-crc,"
        "mount_timeout=300,acl,mon_addr=[REDACTED]:3300,recover_session=clean 0 0",
        "ceph",
        "00000000-0000-0000-0000-000000000000.cephfs",
        *("/volumes/containers", "[REDACTED]:3300"),
    ),
    # Monitors in the source, and the file system of several that they have.
    MountExample(
        "https://github.com/ceph/ceph-csi/issues/3309",
        "192.168.21.11,192.168.21.12,192.168.21.13:/ /mnt ceph rw,relatime,name=admin,"
        "secret=<hidden>,fsid=00000000-0000-0000-0000-000000000000,acl,mds_namespace=cephfs 0 0",
        *("ceph", "cephfs on 192.168.21.11,192.168.21.12,192.168.21.13", "/"),
    ),
    MountExample(
        "https://github.com/ceph/ceph-csi/pull/576",
        "10.101.233.60:6789:/volumes/csi/csi-vol-3f907a88-d06a-11e9-84b5-0242ac11000f on "
        "/var/lib/www type ceph (rw,relatime,name=admin,secret=<hidden>,dirstat,acl,"
        "mds_namespace=myfs,wsize=16777216)",
        *("ceph", "myfs on 10.101.233.60:6789"),
        "/volumes/csi/csi-vol-3f907a88-d06a-11e9-84b5-0242ac11000f",
        options={"wsize": "16777216"},
    ),
    MountExample(
        "https://github.com/kubernetes-sigs/azurelustre-csi-driver/blob/"
        "24d5ac387ed198feba4c51d15851b1bfff91bd2a/docs/csi-debug.md",
        "172.18.8.12@tcp:/lustrefs on /var/lib/kubelet/pods/6632349a-05fd-466f-bc8a-8946617089ce/"
        "volumes/kubernetes.io~csi/pvc-841498d9-fa63-418c-8cc7-d94ec27f2ee2/mount type lustre "
        "(rw,flock,lazystatfs,encrypt)",
        *("lustre", "172.18.8.12@tcp", "/lustrefs"),
        options={"locks": "flock"},
    ),
    # InfiniBand, and options of the mount itself among them.
    MountExample(
        "https://github.com/spack/spack/blob/"
        "1e250a6d37e40ef41f5c30cce9da63fb3faeb7d7/lib/spack/docs/basic_usage.rst",
        "mds1-lnet0@o2ib100:/lsd on /p/lscratchd type lustre (rw,nosuid,lazystatfs,flock)",
        *("lustre", "mds1-lnet0@o2ib100", "/lsd"),
        options={"locks": "flock"},
    ),
)
# Of this mount its options alone were printed.
CHANNELS = (
    "https://lore.kernel.org/linux-cifs/"
    "CANT5p=qVq5mD2jfvt1Ym24hQF9M-aj1v1GT2q+_41p1OTESTKw@mail.gmail.com/",
    "rw,relatime,vers=3.1.1,cache=strict,username=linuxsmb3testsharesmc,uid=0,noforceuid,gid=0,"
    "noforcegid,addr=20.150.70.104,file_mode=0777,dir_mode=0777,soft,persistenthandles,nounix,"
    "serverino,mapposix,mfsymlinks,nostrictsync,rsize=1048576,wsize=1048576,bsize=1048576,"
    "echo_interval=60,actimeo=1,multichannel,max_channels=2",
)


def mount_of(folder: Path, line: str) -> Mount:
    """As mountinfo would have it, where both kinds of options stand apart."""
    match = _PRINTED.fullmatch(line) or _KEPT.fullmatch(line)
    assert match is not None
    numbered = f"96 29 0:61 / {match['point']} rw,relatime shared:49"
    (folder / "mountinfo").write_text(
        f"{numbered} - {match['kind']} {match['source']} {match['options']}\n"
    )
    (mount,) = blockdev.mounts_of(folder)
    return mount


@pytest.mark.parametrize("example", LINES, ids=lambda example: example.server)
def test_it_is_known_without_asking_its_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, example: MountExample
) -> None:
    mount = mount_of(tmp_path, example.line)
    contender = as_mounted.contender(mount.filesystem, mount.options)
    assert (contender.filesystem, contender.options) == (example.filesystem, example.options)

    monkeypatch.setattr(blockdev, "own_mounts", lambda: [mount])
    entry = LunEntry("nas", "mount", Path(mount.point))
    identity = dict(mounts.identity(entry))
    assert (identity["Server"], identity["Export"]) == (example.server, example.export)
    assert identity.get("Server's address", "") == example.address
    assert identity["Mount options"] == mount.options
    printed = mounts.fingerprint(entry, "a mark")
    assert (printed["server"], printed["export"]) == (example.server, example.export)


def test_smb_over_several_connections_is_another_contender() -> None:
    contender = as_mounted.contender("cifs", CHANNELS[1])
    assert contender.options == {
        "vers": "3.1.1",
        "rsize": "1048576",
        "wsize": "1048576",
        "channels": "multichannel",
    }
