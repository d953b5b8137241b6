#!/bin/sh
# Make .venv and install the pinned requirements: environment.sh PYTHON REQUIREMENTS...
set -eu

python=$1
shift
if [ -z "$python" ]; then
  echo "fsbench needs Python 3.11 or newer, and found none (looked for python3, python3.11 to python3.14)." >&2
  echo "Install it (Debian, Ubuntu: apt install python3 python3-venv), or name it: make run PYTHON=/path/to/python3" >&2
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
  "$python" -m venv .venv
fi
# Python compiles what is imported, once; pip would compile everything (13 of 20 seconds). Where nothing may be
# kept of that, pip has to.
compile=--no-compile
if [ -n "${PYTHONDONTWRITEBYTECODE:-}" ]; then
  compile=--compile
fi
rm -f .venv/.installed-*
# The pinned pip first, by itself: the one that Python brings along compares every file of every version in
# the index with every platform, and takes twice as long for the rest.
sed -n '/^pip==/,/[^\\]$/p' "$1" >.venv/pip.txt
if [ -s .venv/pip.txt ]; then
  .venv/bin/python -m pip install --quiet --disable-pip-version-check "$compile" --require-hashes -r .venv/pip.txt
fi
for file in "$@"; do
  echo "Installing $file ..."
  .venv/bin/python -m pip install --quiet --disable-pip-version-check "$compile" --require-hashes -r "$file"
done
# Python 3.11 puts an old setuptools into every environment. Unless it is pinned nothing needs it.
if ! grep -q '^setuptools==' "$@"; then
  .venv/bin/python -m pip uninstall --quiet --disable-pip-version-check --yes setuptools 2>/dev/null
fi
