"""Mounts that no test meets, from lines as the kernel prints them: SMB, CephFS, Lustre.

What stands in them is of mount.cifs(8), mount.ceph(8), mount.lustre(8) and the kernel's
cifs_show_options, ceph_show_options and ll_show_options. None of them was mounted for this.
"""

from pathlib import Path

import pytest

from fsbench_web.catalog.configurations import as_mounted
from runner.host import blockdev, mounts
from runner.host.blockdev import Mount
from runner.host.luns import LunEntry

FSID = "07fe3187-00d9-42a3-814b-72a4d5e7d5be"
SMB = (
    "412 29 0:55 / /srv/lun rw,relatime shared:221 - cifs //nas/scratch rw,vers=3.1.1,cache=strict,"
    "username=bench,uid=0,noforceuid,gid=0,noforcegid,addr=10.0.0.9,file_mode=0755,dir_mode=0755,"
    "soft,nounix,serverino,mapposix,rsize=4194304,wsize=1048576,bsize=1048576,echo_interval=60,"
    "multichannel,max_channels=4,actimeo=1,closetimeo=1"
)
CEPH = (
    f"96 29 0:61 / /srv/lun rw,relatime shared:49 - ceph admin@{FSID}.scratch=/bench rw,name=admin,"
    f"secret=<hidden>,fsid={FSID},acl,mon_addr=10.0.0.1:6789/10.0.0.2:6789"
)
OLD_CEPH = (
    "96 29 0:61 / /srv/lun rw,relatime - ceph 10.0.0.1:6789,10.0.0.2:6789:/bench rw,name=admin,"
    "secret=<hidden>,acl,wsize=16777216"
)
LUSTRE = (
    "131 29 0:44 / /srv/lun rw,relatime shared:71 - lustre 10.0.0.5@tcp:10.0.0.6@tcp:/scratch rw,"
    "checksum,flock,user_xattr,lruresize,lazystatfs,nouser_fid2path,verbose,encrypt"
)
LINES = (
    (SMB, "cifs", {"vers": "3.1.1", "wsize": "1048576", "channels": "multichannel"}),
    (CEPH, "ceph", {}),
    (OLD_CEPH, "ceph", {"wsize": "16777216"}),
    (LUSTRE, "lustre", {"locks": "flock"}),
)
SERVERS = (
    ("nas", "scratch", "10.0.0.9"),
    (f"{FSID}.scratch", "/bench", "10.0.0.1:6789/10.0.0.2:6789"),
    ("10.0.0.1:6789,10.0.0.2:6789", "/bench", ""),
    ("10.0.0.5@tcp:10.0.0.6@tcp", "/scratch", ""),
)


def mount_of(folder: Path, line: str) -> Mount:
    (folder / "mountinfo").write_text(f"{line}\n")
    (found,) = blockdev.mounts_of(folder)
    return found


@pytest.mark.parametrize(("line", "filesystem", "options"), LINES)
def test_what_is_compared_is_read_from_the_mount(
    tmp_path: Path, line: str, filesystem: str, options: dict[str, str]
) -> None:
    mount = mount_of(tmp_path, line)
    found = as_mounted.contender(mount.filesystem, mount.options)
    assert (found.filesystem, found.options) == (filesystem, options)


@pytest.mark.parametrize(
    ("line", "known"), [(line[0], known) for line, known in zip(LINES, SERVERS, strict=True)]
)
def test_the_server_and_what_it_gives_are_known_without_asking_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, known: tuple[str, str, str]
) -> None:
    mount = mount_of(tmp_path, line)
    monkeypatch.setattr(blockdev, "own_mounts", lambda: [mount])
    entry = LunEntry("nas", "mount", Path("/srv/lun"))
    said = dict(mounts.identity(entry))
    assert (said["Server"], said["Export"]) == known[:2]
    assert said.get("Server's address", "") == known[2]
    assert said["Mount options"] == mount.options
    printed = mounts.fingerprint(entry, "a mark")
    assert (printed["server"], printed["export"]) == known[:2]
