#!/usr/bin/env bash
# Make .venv hold exactly what requirements/<set>.txt locks, and this project itself.
# Usage: requirements/setup.sh run|dev|docs; docs goes on top of one of the others, which hold the same versions.
# Two callers at once: the second waits, then finds the work done. Interrupted: the next call repeats it.
set -euo pipefail

set_name=${1:?usage: requirements/setup.sh run|dev|docs}
cd "$(dirname "$0")/.."

supported='import sys; sys.exit(sys.version_info < (3, 11))'

# The stamp names what was installed, so a changed lock or project file is noticed whatever its date is.
stamp() {
  cat "requirements/$1.txt" pyproject.toml | sha256sum | cut -c1-16
}

installed() {
  [ -e ".venv/.$1-$(stamp "$1")" ] && .venv/bin/python -c "$supported" 2>/dev/null
}

fail() {
  printf 'Found: %s\nNeeded: %s\nDo: %s\n' "$@" >&2
  exit 2
}

# Prints the first Python that is new enough and can make a virtual environment with pip in it.
find_python() {
  local name newest_without_pip=''
  for name in python3.13 python3.12 python3.11 python3; do
    # A name that is on PATH may still not run (version managers leave such stand-ins).
    "$name" -c "$supported" 2>/dev/null || continue
    if "$name" -c 'import ensurepip, venv' 2>/dev/null; then
      command -v "$name"
      return
    fi
    newest_without_pip=${newest_without_pip:-$name}
  done
  if [ -n "$newest_without_pip" ]; then
    fail "$newest_without_pip without its venv and ensurepip modules." \
      'both, to make .venv.' \
      "install the package that holds them (Debian: apt-get install $newest_without_pip-venv; openEuler: dnf install python3-pip) and run make again."
  fi
  fail "no Python 3.11 or newer on PATH (python3 is: $(python3 --version 2>/dev/null || echo absent))." \
    'Python 3.11, 3.12 or 3.13.' \
    'install one (Debian: apt-get install python3 python3-venv; openEuler: dnf install python3.11) and run make again.'
}

# dev.txt holds everything that run.txt holds, at the same versions.
enough() {
  installed "$set_name" || { [ "$set_name" = run ] && installed dev; }
}

if [ "$set_name" = docs ]; then
  requirements/setup.sh run
fi
if enough; then
  exit 0
fi

exec 9>.venv.lock
flock 9
if enough; then
  exit 0
fi

if ! .venv/bin/python -c "$supported; import pip" 2>/dev/null; then
  python=$(find_python)
  printf 'Making .venv with %s\n' "$python"
  "$python" -m venv --clear .venv
fi
printf 'Installing the packages of requirements/%s.txt into .venv (about a minute)\n' "$set_name"
pip=(.venv/bin/python -m pip --quiet --disable-pip-version-check)
if [ "$set_name" != docs ]; then
  rm -f .venv/.run-* .venv/.dev-* .venv/.docs-*
fi
"${pip[@]}" install --require-hashes -r "requirements/$set_name.txt"
if [ "$set_name" != docs ]; then
  "${pip[@]}" install --no-deps --no-build-isolation --editable .
fi
touch ".venv/.$set_name-$(stamp "$set_name")"
