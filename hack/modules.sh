#!/usr/bin/env bash
# Prints the folders of the modules that go.work ties to the main module.
set -euo pipefail
cd "$(dirname "$0")/.."

sed -n 's|^\t\./\(.*\)|\1|p' go.work
