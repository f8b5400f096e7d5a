#!/usr/bin/env bash
# Generates the OpenAPI document of the control protocol from package control, and parts of the clients from the document.
# Usage: hack/update-control.sh [FOLDER]
set -euo pipefail
cd "$(dirname "$0")/.."

go run ./hack/controlopenapi "${1:-.}"
