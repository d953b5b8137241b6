#!/bin/sh
# Make .venv and install the pinned requirements: environment.sh PYTHON REQUIREMENTS...
set -eu

python=$1
shift
if [ -z "$python" ]; then
  echo "fsbench needs Python 3.11 or newer, and found none (looked for python3, python3.11 to python3.14)." >&2
  if there=$(python3 --version 2>/dev/null); then
    echo "The python3 of this machine is $there. Debian 12 and Ubuntu 24.04 are the first with a newer one;" >&2
    echo "on Ubuntu 22.04: apt install python3.11 python3.11-venv tzdata" >&2
  else
    echo "Install it (Debian, Ubuntu: apt install python3 python3-venv)." >&2
  fi
  echo "Another one is named so: make run PYTHON=/path/to/python3" >&2
  exit 1
fi
version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
  echo "$python is Python $version; fsbench needs 3.11 or newer." >&2
  exit 1
fi
if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
  # Debian and Ubuntu ship Python without these two modules.
  echo "$python cannot make virtual environments: install the package python$version-venv" >&2
  echo "(Debian, Ubuntu: apt install python$version-venv) and start again." >&2
  exit 1
fi

# An environment whose Python was upgraded or removed, or that was left half made, is made anew.
if ! .venv/bin/python -c "import pip, sys; sys.exit('%d.%d' % sys.version_info[:2] != '$version')" 2>/dev/null; then
  echo "Making the virtual environment .venv with Python $version ..."
  rm -rf .venv
  "$python" -m venv --without-pip .venv
fi
# Python compiles what is imported, once; pip would compile everything (13 of 20 seconds). Where nothing may be
# kept of that, pip has to.
compile=--no-compile
if [ -n "${PYTHONDONTWRITEBYTECODE:-}" ]; then
  compile=--compile
fi
rm -f .venv/.installed-*
# The pinned pip first, by the one that Python brings along, as it lies there: unpacking and compiling that one
# only to replace it takes longer, and for the rest it would compare every file of every version in the index
# with every platform.
sed -n '/^pip==/,/[^\\]$/p' "$1" >.venv/pip.txt
brought=$(.venv/bin/python -c '
import ensurepip, sysconfig
from pathlib import Path
places = sysconfig.get_config_var("WHEEL_PKG_DIR"), Path(ensurepip.__file__).with_name("_bundled")
print(*(wheel / "pip" for place in places if place for wheel in Path(place).glob("pip-*.whl")), sep="\n")
' | head -n 1)
if [ -z "$brought" ]; then
  .venv/bin/python -m ensurepip
  brought=-mpip
fi
install() { # install PIP REQUIREMENTS: all that they need is in these files
  .venv/bin/python "$1" install --quiet --disable-pip-version-check "$compile" --no-deps --require-hashes -r "$2"
}
install "$brought" .venv/pip.txt
for file in "$@"; do
  echo "Installing $file ..."
  install -mpip "$file"
done
