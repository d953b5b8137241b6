#!/bin/bash
# Install what the tests need and this Debian or Ubuntu does not have yet. Quick when all is there.
# Touches no apt configuration, starts no daemon.
set -euo pipefail

PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
missing=()

need() { # need PACKAGE TEST...: note the package unless the test succeeds
  local package=$1
  shift
  "$@" >/dev/null 2>&1 || missing+=("$package")
}
have() { command -v "$1"; }
matches() { compgen -G "$1"; }

need postgresql matches '/usr/lib/postgresql/*/bin/initdb'
need redis-server have redis-server
need docker.io have dockerd
compose() { docker compose version || have docker-compose; }
need docker-compose compose
need debootstrap have debootstrap
need systemd have systemd-analyze
need chromium have chromium
need xfsprogs have mkfs.xfs
need btrfs-progs have mkfs.btrfs
need e2fsprogs have mkfs.ext4
need jfsutils have mkfs.jfs
need reiserfsprogs have mkfs.reiserfs
need f2fs-tools have mkfs.f2fs
need nilfs-tools have mkfs.nilfs2
need util-linux have setpriv
need fio have fio
need fsmark have fs_mark
need gcc have gcc
need make have make
need xz-utils have xz
need libc6-dev matches '/usr/include/stdio.h'
need stress-ng have stress-ng
need mount have losetup
need git have git
need iproute2 have ip
need openssl have openssl
# Completion is tried in the shells that it is for.
need zsh have zsh
need fish have fish
need fonts-dejavu-core matches '/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf'
# Debian's python3 cannot make virtual environments without it; other Pythons can.
need python3-venv python3 -c 'import ensurepip, venv'
have docker >/dev/null || missing+=(docker-cli)
iozone=
have iozone >/dev/null || iozone=iozone3
# What guests boot in the tests: the kernel alone, as a file; it is not installed.
kernels=${XDG_CACHE_HOME:-/var/cache}/fsbench-test/kernels
kernel=
matches "$kernels/linux-image-*.deb" >/dev/null || kernel=linux-image-amd64

if [ ${#missing[@]} -eq 0 ] && [ -z "$iozone$kernel" ]; then
  exit 0
fi
if [ "$(id -u)" != 0 ] || ! have apt-get >/dev/null; then
  echo "The tests need these packages: ${missing[*]} $iozone $kernel" >&2
  echo "Install them, or run 'make test' as root on Debian. 'make test-quick' needs none of them." >&2
  exit 1
fi

work=$(mktemp -d)
policy=/usr/sbin/policy-rc.d
made_policy=
cleanup() {
  [ -z "$made_policy" ] || rm -f "$policy"
  rm -rf "$work"
}
trap cleanup EXIT

# The distribution's own way to say "start nothing while installing".
if [ ! -e "$policy" ]; then
  made_policy=yes
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod 755 "$policy"
fi
export DEBIAN_FRONTEND=noninteractive
run() { # run COMMAND...: quiet unless it fails
  "$@" >"$work/log" 2>&1 </dev/null || { tail -n 40 "$work/log" >&2; echo "failed: $*" >&2; return 1; }
}

if [ ${#missing[@]} -gt 0 ]; then
  echo "Installing for the tests: ${missing[*]}"
  run apt-get update
  # Where docker.io still brings the client, there is no package of that name.
  apt-cache show docker-cli >/dev/null 2>&1 || missing=("${missing[@]/docker-cli/}")
  read -ra missing <<<"${missing[*]}"
  [ ${#missing[@]} -eq 0 ] || run apt-get install -y --no-install-recommends "${missing[@]}"
fi

if [ -n "$iozone" ]; then
  # IOzone is in a component that few machines enable. It is read from the machine's own mirror,
  # through a list that lives only as long as this script.
  echo "Installing for the tests: $iozone"
  # shellcheck disable=SC1091
  component=$(. /etc/os-release && [ "$ID" = ubuntu ] && echo multiverse || echo non-free)
  apt-get indextargets --format '$(ORIGIN) $(COMPONENT) $(REPO_URI) $(RELEASE)' 'Created-By: Packages' |
    while read -r origin part uri release; do
      case "$origin $part" in "Debian main" | "Ubuntu main") echo "deb $uri $release main $component" ;; esac
    done | sort -u >"$work/sources.list"
  if [ ! -s "$work/sources.list" ]; then
    echo "No Debian or Ubuntu mirror among apt's sources: install iozone3 by hand." >&2
    exit 1
  fi
  mkdir -p "$work/lists/partial"
  private=(-o "Dir::Etc::sourcelist=$work/sources.list" -o Dir::Etc::sourceparts=-
    -o "Dir::State::lists=$work/lists" -o "Dir::Cache::pkgcache=" -o "Dir::Cache::srcpkgcache=")
  run apt-get "${private[@]}" update
  run apt-get "${private[@]}" install -y --no-install-recommends "$iozone"
fi

if [ -n "$kernel" ]; then
  # The package of this name depends on the one that holds the kernel.
  echo "Downloading for the tests: $kernel"
  [ ${#missing[@]} -gt 0 ] || run apt-get update
  package=$(apt-cache depends "$kernel" | sed -n 's/^ *Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1)
  if [ -z "$package" ]; then
    echo "apt knows no $kernel: put Debian's package of a kernel into $kernels by hand." >&2
    exit 1
  fi
  mkdir -p "$kernels"
  (cd "$work" && run apt-get download "$package")
  mv "$work"/linux-image-*.deb "$kernels/"
fi
