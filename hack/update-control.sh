#!/usr/bin/env bash
# Generates the OpenAPI document of the control protocol, from package control.
# Usage: hack/update-control.sh [FILE]
set -euo pipefail
cd "$(dirname "$0")/.."

out=${1:-pkg/miniapitest/engine/control/openapi.json}
go run ./hack/controlopenapi >"$out.new"
mv "$out.new" "$out"
