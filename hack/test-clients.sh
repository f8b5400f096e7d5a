#!/usr/bin/env bash
# Runs the suites of the clients for other languages, or of those that are named. Without names, a language whose tools
# this machine lacks is left out.
# Usage: hack/test-clients.sh [LANGUAGE...]
set -euo pipefail
cd "$(dirname "$0")/.."

# lacks prints what a language needs and this machine lacks.
lacks() {
	local tool needed
	declare -A tools=([csharp]="mcs mono kubectl" [python]="python3" [typescript]="node npm" [java]="javac mvn" [rust]="cargo clippy-driver")
	for tool in ${tools[$1]}; do
		command -v "$tool" >/dev/null || echo "$tool"
	done
	if [[ $1 == rust ]] && command -v rustc >/dev/null; then
		needed=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' clients/rust/Cargo.toml)
		printf '%s\n' "$needed" "$(rustc --version | cut -d ' ' -f 2)" | sort --check --version-sort 2>/dev/null || echo "Rust $needed"
	fi
}

languages=("$@")
if ((${#languages[@]} == 0)); then
	for suite in clients/*/test; do
		language=$(basename "$(dirname "$suite")")
		missing=$(lacks "$language" | paste -sd ' ')
		if [[ $missing ]]; then
			echo "=== $language is left out, because this machine lacks $missing"
		else
			languages+=("$language")
		fi
	done
fi
if [[ -z ${MINIAPI:-} ]]; then
	go build -o bin/miniapi ./cmd/miniapi
	export MINIAPI=$PWD/bin/miniapi
fi
for language in "${languages[@]}"; do
	echo "=== $language"
	"clients/$language/test"
done
