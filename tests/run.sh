#!/usr/bin/env bash
# Every test: those that need a cluster on a rehearsal cluster of their own, which is removed after; beside them the fast
# ones, and then those over SSH on hosts that they start themselves.
# Arguments go to pytest.
set -euo pipefail
cd "$(dirname "$0")/.."

# One run per checkout at a time, and a cluster that no other checkout uses.
exec 9>.venv/.test.lock
flock 9
name=test-$(pwd | cksum | cut -d ' ' -f 1)
log=$(mktemp)
others=

play() {
  .venv/bin/ansible-playbook -i inventory/rehearsal -e "rehearsal_cluster_name=$name" \
    -e '{"rehearsal_cluster_extras": ["scheduler-plugins"]}' "$@"
}

# Removing is no news unless it fails; what pytest says stays the end of the output.
remove() {
  play playbooks/rehearsal.yml -e rehearsal_cluster_state=absent >"$log" 2>&1 || { cat "$log" && return 1; }
}

# What runs in the background is deaf to an interrupt, which some tests send to programs that they start.
try() {
  env --default-signal=INT .venv/bin/pytest "$@"
}

# Those that need no cluster, beside those that mostly wait for one. What they say comes in one piece.
others() {
  local said status=0
  said=$(mktemp)
  try tests/unit tests/hosts "$@" >"$said" 2>&1 || status=$?
  cat "$said"
  rm -f "$said"
  return "$status"
}

# Of a selection, all may be on one side: pytest ends with 5 where it found none.
finish() {
  local status=$? beside=0
  if [ -n "$others" ]; then
    [ "$status" -le 1 ] || [ "$status" -eq 5 ] || pkill -INT -P "$others" || true # whoever ends these waits for none
    wait "$others" || beside=$?
    [ "$status" -ne 5 ] || status=$beside beside=0
    [ "$beside" -eq 0 ] || [ "$beside" -eq 5 ] || status=1
  fi
  remove || status=1
  rm -f "$log"
  exit "$status"
}

remove # what a run that was killed may have left would not be the same for every run
trap finish EXIT
.venv/bin/ansible-playbook -i inventory/test-hosts tests/hosts/packages.yml tests/integration/packages.yml
play playbooks/rehearsal.yml playbooks/install.yml
.venv/bin/python -m tests.hosts.lab prepare # so that no test waits for what hosts are made of
others "$@" &
others=$!
cache=${XDG_CACHE_HOME:-$HOME/.cache}
export KFV_TEST_KUBECONFIG=$cache/kubeflow-volcano/rehearsal/$name/admin.kubeconfig
try tests/integration "$@"
