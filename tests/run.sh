#!/usr/bin/env bash
# Every test: the fast ones, then those that need a cluster, on a rehearsal cluster of their own.
set -euo pipefail
cd "$(dirname "$0")/.."
.venv/bin/pytest
