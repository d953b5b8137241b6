#!/bin/bash
# Install what the tests need and this Debian or Ubuntu does not have yet. Quick when all is there.
# Touches no apt configuration, starts no daemon: deploy/install_tools.py installs it all.
set -euo pipefail

PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
root=$(cd "$(dirname "$0")/../.." && pwd)
python=${PYTHON:-python3}
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
missing=()

need() { # need PACKAGE TEST...: note the package unless the test succeeds
  local package=$1
  shift
  "$@" >/dev/null 2>&1 || missing+=("$package")
}
have() { command -v "$1"; }
there() { have "$1" || test -e "$1"; }
matches() { compgen -G "$1"; }
is_ubuntu() { (. /etc/os-release && [[ " $ID ${ID_LIKE:-} " = *" ubuntu "* ]]); }
has_chromium() { # Ubuntu's is a snap, which sees no folder of the tests
  local playwright=${PLAYWRIGHT_BROWSERS_PATH:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/ms-playwright}
  case $(command -v chromium) in
    "" | */snap/*) matches "$playwright/chromium-*/chrome-linux*/chrome" ;;
  esac
}
finish() { # all is there, but perhaps what apt has not
  has_chromium >/dev/null && exit 0
  echo "Pages are looked at in Chromium, of which Ubuntu has no package but a snap, which sees no folder of the" \
    "tests. Get Playwright's (.venv/bin/python -m playwright install --with-deps chromium), or put another one" \
    "into PATH as chromium, and start again. 'make test-quick' needs none." >&2
  exit 1
}

# What workloads and file systems need is declared once; every file system is tested, also those that
# this kernel cannot mount (guests can).
while read -r program package; do
  # In no release of Debian: make test-contenders brings it for its guests.
  [ "$package" = bcachefs-tools ] && continue
  need "$package" there "$program"
done < <("$python" -I "$root/fsbench_web/core/requirements.py" programs)
need postgresql matches '/usr/lib/postgresql/*/bin/initdb'
need redis-server have redis-server
need docker.io have dockerd
compose() { docker compose version || docker-compose version; }
# Ubuntu's docker-compose does not start with its Python (it needs distutils).
if is_ubuntu; then need docker-compose-v2 compose; else need docker-compose compose; fi
need debootstrap have debootstrap
need systemd have systemd-analyze
is_ubuntu || need chromium has_chromium
# The base of the images is Debian's, and so is the kernel of guests.
need debian-archive-keyring test -e "$keyring"
need xz-utils have xz
# Kernels of newer Debian releases are packed with it.
need zstd have zstd
need git have git
need iproute2 have ip
need openssl have openssl
need curl have curl
# Extra runs count the operations of a file system with it.
need bpftrace have bpftrace
# Completion is tried in the shells that it is for.
need zsh have zsh
need fish have fish
need fonts-dejavu-core matches '/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf'
# Debian's python3 cannot make virtual environments without it; other Pythons can.
need python3-venv python3 -c 'import ensurepip, venv'
if_known=()
# Where docker.io still brings the client, there is no package of that name.
have docker >/dev/null || if_known+=(docker-cli)
# Chromium without a window, which takes half of the processor; the other one does as well.
have chromium-headless-shell >/dev/null || if_known+=(chromium-headless-shell)
[ ${#if_known[@]} -eq 0 ] || if_known=(--if-known "${if_known[@]}")
# What guests boot in the tests: the kernel alone, as a file; it is not installed.
kernels=${XDG_CACHE_HOME:-/var/cache}/fsbench-test/kernels
kernel=
matches "$kernels/linux-image-*.deb" >/dev/null || kernel=linux-image-amd64

if [ ${#missing[@]} -eq 0 ] && [ ${#if_known[@]} -eq 0 ] && [ -z "$kernel" ]; then
  finish
fi
if [ "$(id -u)" != 0 ] || ! have apt-get >/dev/null; then
  [ ${#missing[@]} -gt 0 ] || [ -n "$kernel" ] || finish
  echo "The tests need these packages: ${missing[*]} $kernel" >&2
  echo "Install them, or run 'make test' as root on Debian. 'make test-quick' needs none of them." >&2
  exit 1
fi

if [ ${#missing[@]} -gt 0 ] || [ ${#if_known[@]} -gt 0 ]; then
  # A tool that a newer release of the distribution has dropped is left out, and its tests say so.
  "$python" -B "$root/deploy/install_tools.py" --lock-held --only "${missing[@]}" "${if_known[@]}"
fi

export DEBIAN_FRONTEND=noninteractive
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
run() { # run COMMAND...: quiet unless it fails
  "$@" >"$work/log" 2>&1 </dev/null || { tail -n 40 "$work/log" >&2; echo "failed: $*" >&2; return 1; }
}

if [ -n "$kernel" ]; then
  # The package of this name depends on the one that holds the kernel.
  echo "Downloading for the tests: $kernel"
  options=()
  if is_ubuntu; then # from Debian itself, with lists that go with this program
    mkdir -p "$work/lists/partial" "$work/cache/archives/partial"
    chmod 755 "$work" # apt reads as a user without rights
    echo "deb [signed-by=$keyring] http://deb.debian.org/debian bookworm main" >"$work/sources.list"
    options=(-o "Dir::Etc::sourcelist=$work/sources.list" -o "Dir::Etc::sourceparts=-"
      -o "Dir::State::lists=$work/lists" -o "Dir::Cache=$work/cache")
  fi
  run apt-get "${options[@]}" update
  depends=$(apt-cache "${options[@]}" depends "$kernel" || true)
  package=$(sed -n 's/^ *Depends: \(linux-image-[0-9].*\)/\1/p' <<<"$depends" | head -n 1)
  if [ -z "$package" ]; then
    echo "apt knows no $kernel: put Debian's package of a kernel into $kernels by hand." >&2
    exit 1
  fi
  mkdir -p "$kernels"
  (cd "$work" && run apt-get "${options[@]}" download "$package")
  mv "$work"/linux-image-*.deb "$kernels/"
fi
finish
