#!/usr/bin/env bash
# Tests, shared out over workers: files that need a cluster find one of their worker's own, which is removed after.
# Arguments go to pytest; KFV_TEST_WORKERS says how many work side by side: by default one more than processors, as some
# tests wait, and each has Kubernetes beside it, whose limits are real.
# KFV_TEST_TOOLS names the generations of Kubernetes that tests need beside the first: their tools are built before them.
set -euo pipefail
cd "$(dirname "$0")/.."

# One run per checkout at a time, and clusters that no other checkout uses (tests/rehearsed.py names them).
exec 9>.venv/.test.lock
flock 9
prefix=test-$(pwd -P | tr -d '\n' | sha256sum | cut -c 1-6)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/kubeflow-volcano
log=$(mktemp)

play() {
  .venv/bin/ansible-playbook -i inventory/rehearsal -e "rehearsal_cluster_name=$1" \
    -e '{"rehearsal_cluster_extras": ["scheduler-plugins"]}' "${@:2}"
}

# Removing is no news unless it fails; what pytest says stays the end of the output.
remove() {
  local directory status=0
  for directory in "$cache/rehearsal/$prefix"-*/; do
    [ -d "$directory" ] || continue
    play "$(basename "$directory")" playbooks/rehearsal.yml -e rehearsal_cluster_state=absent >"$log" 2>&1 ||
      { cat "$log" && status=1; }
  done
  return "$status"
}

finish() {
  local status=$?
  remove || status=1
  rm -f "$log"
  exit "$status"
}

remove # what a run that was killed may have left would not be the same for every run
trap finish EXIT
.venv/bin/ansible-playbook -i inventory/test-hosts tests/hosts/packages.yml tests/integration/packages.yml
play "$prefix-gw0" playbooks/rehearsal.yml # builds the tools that all clusters are made of, before several ask for them
for generation in ${KFV_TEST_TOOLS:-}; do
  .venv/bin/python -m kubeflow_volcano.rehearsal.build.tools --generation "$generation"
done
.venv/bin/python -m tests.hosts.lab prepare # so that no test waits for what hosts are made of
# What is started in the background is deaf to an interrupt, which some tests send to programs that they start.
env --default-signal=INT .venv/bin/pytest -n "${KFV_TEST_WORKERS:-$(($(nproc) + 1))}" "$@"
