# The targets need Go, make, gcc and git, and build other tools into bin/. The tests also run examples in Python and
# Node, and report which of these is missing. `make help` lists the targets.

SHELL := /bin/bash -o pipefail
.DEFAULT_GOAL := help

# One set of build flags, for one build cache: build, test, vet and the linter share their packages.
export GOFLAGS := $(strip $(GOFLAGS) -trimpath -buildvcs=false)

# A test's pattern (RUN=TestName), the packages to test or measure, and flags for `make run` and `make bench`. "work" are
# the packages of all modules in go.work.
RUN ?=
PKG ?= work
ARGS ?=

GOLANGCI_LINT_VERSION := v2.15.0
GOLANGCI_LINT := $(CURDIR)/bin/golangci-lint-$(GOLANGCI_LINT_VERSION)/golangci-lint

##@ Use

.PHONY: help
help: ## List the targets
	@awk 'BEGIN { FS = ":.*## " } \
		/^##@ / { printf "\n%s\n", substr($$0, 5) } \
		/^[a-z-]+:.*## / { printf "  %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build bin/miniapi, without the symbols that only debuggers need
	ldflags=$$(hack/ldflags.sh) && go build -ldflags "-s -w $$ldflags" -o bin/miniapi ./cmd/miniapi

.PHONY: run
run: build ## Build and serve on 127.0.0.1:6443 (ARGS="--secure-port 0 ...")
	bin/miniapi serve $(ARGS)

.PHONY: clean
clean: ## Remove what was built, tools included
	rm -rf bin

##@ Test

.PHONY: test
test: ## Run the tests (RUN=TestName, PKG=./pkg/storage/...)
	go test -run '$(RUN)' $(PKG)

.PHONY: test-race
test-race: ## Run the tests with the race detector
	go test -race -run '$(RUN)' $(PKG)

.PHONY: test-compat
test-compat: ## Release in a copy, and test operators of each version of Kubernetes (ARGS="30 37")
	hack/test-compat.sh $(ARGS)

.PHONY: test-capi
test-capi: ## Run the tests with Cluster API's own code, a module that no other one requires
	cd test/clusterapi && go test -run '$(RUN)' ./...

.PHONY: bench
bench: build ## Measure; with KUBEBUILDER_ASSETS set, the kube-apiserver there beside it (ARGS="-only edits")
	go run ./hack/bench -binary bin/miniapi $(ARGS)

.PHONY: benchmarks
benchmarks: ## Run the packages' Go benchmarks (PKG=./pkg/storage)
	go test -run '^$$' -bench . -benchmem $(PKG)

##@ Check

.PHONY: verify
verify: verify-words verify-format verify-tidy verify-build verify-vet lint verify-openapi verify-runtimehooks ## Check everything but the tests

.PHONY: lint
lint: $(GOLANGCI_LINT) ## Run golangci-lint, which also checks the import rules
	$(GOLANGCI_LINT) run --allow-parallel-runners ./... ./pkg/miniapitest/...

.PHONY: verify-words
verify-words: ## Check that nothing unfinished and no machine's path is committed
	hack/verify-words.sh

.PHONY: verify-format
verify-format: ## Check that the Go code is formatted
	@unformatted=$$(gofmt -s -l .) && if [[ -n $$unformatted ]]; then \
		printf '%s\n' $$unformatted "not formatted: run 'make update'" >&2; exit 1; fi

.PHONY: verify-tidy
verify-tidy: ## Check that go.mod and go.sum are tidy
	hack/tidy.sh check

.PHONY: verify-build
verify-build: ## Check that every package builds
	go build work

.PHONY: verify-vet
verify-vet: ## Run go vet
	go vet work

.PHONY: verify-openapi
verify-openapi: ## Check that the OpenAPI definitions are current
	hack/verify-openapi.sh

.PHONY: verify-runtimehooks
verify-runtimehooks: ## Check that the generated code of pkg/runtimehooks is current
	hack/verify-runtimehooks.sh

##@ Change

.PHONY: update
update: update-format update-tidy update-openapi update-runtimehooks ## Regenerate everything that is generated

.PHONY: update-format
update-format: ## Format the Go code
	gofmt -s -w .

.PHONY: update-tidy
update-tidy: ## Tidy go.mod and go.sum
	hack/tidy.sh

.PHONY: update-openapi
update-openapi: ## Regenerate the OpenAPI definitions
	hack/update-openapi.sh

.PHONY: update-runtimehooks
update-runtimehooks: ## Regenerate what the types of pkg/runtimehooks need
	hack/update-runtimehooks.sh

# Built outside of go.mod, so that the linter's dependencies stay out of it.
$(GOLANGCI_LINT):
	GOBIN=$(@D) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION)
