# The targets need Go, make, gcc and git, and build other tools into bin/. The tests also run examples in Python and
# Node, and report which of these is missing. `make help` lists the targets.

SHELL := /bin/bash -o pipefail
.DEFAULT_GOAL := help

# No flag is part of the keys of the build cache, so that all targets, plain go commands, editors, and the fixture's build
# of its program share compiled packages.
export GOFLAGS := $(strip $(GOFLAGS) -buildvcs=false)

# RUN is a pattern for the names of tests. PKG are the packages to test or measure; "work" stands for the packages of
# all modules in go.work. ARGS are the arguments of the program or script that the targets run, bench, robustness and
# test-compat run.
RUN ?=
PKG ?= work
ARGS ?=

# The tests of a package may take 30 minutes. Go's default of ten can be too little on a slow machine. "make lint" makes the
# checks of go vet.
TEST := go test -vet=off -timeout 30m

GOLANGCI_LINT_VERSION := v2.15.0
GOLANGCI_LINT := $(CURDIR)/bin/golangci-lint-$(GOLANGCI_LINT_VERSION)/golangci-lint

GORELEASER_VERSION := v2.15.1
CYCLONEDX_GOMOD_VERSION := v1.10.0
GORELEASER := $(CURDIR)/bin/goreleaser-$(GORELEASER_VERSION)/goreleaser
CYCLONEDX_GOMOD := $(CURDIR)/bin/cyclonedx-gomod-$(CYCLONEDX_GOMOD_VERSION)/cyclonedx-gomod

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
clean: ## Remove bin/ with the program and the tools, dist/ with a release, and site/
	rm -rf bin dist site

##@ Test

.PHONY: test
test: ## Run the tests (RUN=TestName, PKG=./pkg/storage/...)
	$(TEST) -run '$(RUN)' $(PKG)

.PHONY: test-race
test-race: ## Run the tests with the race detector
	$(TEST) -race -run '$(RUN)' $(PKG)

.PHONY: test-compat
test-compat: ## Release in a copy, and test operators with the oldest and newest Kubernetes (ARGS=all, ARGS="30 35")
	hack/test-compat.sh $(ARGS)

.PHONY: test-capi
test-capi: ## Run the tests with Cluster API's own code, which are a separate module
	cd test/clusterapi && $(TEST) -run '$(RUN)' ./...

.PHONY: test-clients
test-clients: build ## Run the suites of the clients for other languages
	MINIAPI="$${MINIAPI:-$(CURDIR)/bin/miniapi}" hack/test-clients.sh

.PHONY: test-programs
test-programs: ## Build the programs for the other systems, and run those for arm64 and Windows under qemu-user and Wine
	hack/test-programs.sh

.PHONY: test-sample
test-sample: ## Run Kubernetes' sample-apiserver behind miniapi, in a separate module
	cd test/sampleapiserver && $(TEST) -run '$(RUN)' ./...

# The number of servers that start and stop in the last test.
CYCLES ?= 1000

.PHONY: robustness
robustness: build ## Break servers, members and connections under checked load (ARGS="-duration 10m -seed 42")
	go test -vet=off -count=1 -v -artifacts -timeout 0 -run '$(RUN)' ./test/robustness -args -miniapi '$(CURDIR)/bin/miniapi' $(ARGS)
	MINIAPI_TEST_CYCLES=$(CYCLES) go test -vet=off -count=1 -v -timeout 0 -run TestStoppedServersLeaveNothing ./pkg/server | sed '/^[IWEF][0-9]\{4\} /d' # without the servers' logs

.PHONY: bench
bench: build ## Measure miniapi, and the kube-apiserver in KUBEBUILDER_ASSETS if that is set (ARGS="-only edits")
	go run ./hack/bench -binary bin/miniapi $(ARGS)

.PHONY: benchmarks
benchmarks: ## Run the packages' Go benchmarks (PKG=./pkg/storage)
	go test -run '^$$' -bench . -benchmem $(PKG)

##@ Release

# The releases are archives, packages, a Homebrew cask, images, checksums, and an inventory of the modules of each program.
# One build at a time uses all processors, and a first build of the six systems takes longer than GoReleaser's hour.
DIST = PATH='$(dir $(CYCLONEDX_GOMOD))':$$PATH LDFLAGS="$$(hack/ldflags.sh $(VERSION))" \
	$(GORELEASER) release --clean --parallelism 1 --timeout 6h

.PHONY: release-snapshot
release-snapshot: $(GORELEASER) $(CYCLONEDX_GOMOD) ## Build into dist/ what a release has, of this commit
	$(DIST) --snapshot
	hack/image.sh dist

.PHONY: release
release: $(GORELEASER) $(CYCLONEDX_GOMOD) ## Build a release into dist/ (VERSION=vX.Y.Z), before hack/release.sh tags it
	@[[ -n "$(VERSION)" ]] || { echo "set VERSION, such as VERSION=v1.2.3" >&2; exit 2; }
	GORELEASER_CURRENT_TAG='$(VERSION)' $(DIST) --skip=publish,announce,validate
	hack/image.sh dist

.PHONY: test-release
test-release: ## Test the programs and the image in dist/, under emulators and in Podman
	hack/test-release.sh dist

SITE_TOOLS := bin/site-$(shell sha256sum hack/site/requirements.txt | cut -c1-8)

.PHONY: docs-site
docs-site: $(SITE_TOOLS) ## Build the documentation into site/, and check all links in it
	NO_MKDOCS_2_WARNING=1 $(SITE_TOOLS)/bin/mkdocs build

##@ Check

.PHONY: verify
verify: verify-leftovers verify-format verify-tidy verify-build verify-targets verify-modules lint verify-openapi verify-validations verify-featuregates verify-runtimehooks verify-control verify-aggregated ## Run all checks except the tests

.PHONY: lint
lint: $(GOLANGCI_LINT) ## Run golangci-lint, which also makes the checks of go vet, and checks the import rules
	$(GOLANGCI_LINT) run --allow-parallel-runners ./... $(patsubst %,./%/...,$(shell hack/modules.sh))
	cd test/sampleapiserver && $(GOLANGCI_LINT) run --allow-parallel-runners ./...
	cd test/clusterapi && $(GOLANGCI_LINT) run --allow-parallel-runners ./...

.PHONY: verify-leftovers
verify-leftovers: ## Check that no file is marked as unfinished or has the path of one machine
	hack/verify-leftovers.sh

.PHONY: verify-format
verify-format: ## Check that the Go code is formatted
	@unformatted=$$(gofmt -s -l .) && if [[ -n $$unformatted ]]; then \
		printf '%s\n' $$unformatted "not formatted: run 'make update'" >&2; exit 1; fi

.PHONY: verify-tidy
verify-tidy: ## Check that go.mod and go.sum are tidy
	hack/tidy.sh check

# This is the first build of a fresh machine: it compiles what the other targets need, and links nothing. With fewer
# collections of garbage, it takes a sixth less processor time.
.PHONY: verify-build
verify-build: ## Check that every package and test builds
	GOGC=400 go list -export -test work >/dev/null

# The systems of a release, besides the one that verify-build builds for.
TARGETS := linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64

.PHONY: verify-targets
verify-targets: ## Check the types of every package and test for the systems of a release
	go run ./hack/typecheck work $(TARGETS)

.PHONY: verify-modules
verify-modules: ## Check that each module builds with the versions in its own go.mod
	hack/verify-modules.sh

.PHONY: verify-openapi
verify-openapi: ## Check that the OpenAPI definitions are current
	hack/verify-openapi.sh

.PHONY: verify-validations
verify-validations: ## Check that the declarative validation is current
	hack/verify-validations.sh

.PHONY: verify-featuregates
verify-featuregates: ## Check that the feature gates of kube-apiserver are current
	hack/verify-featuregates.sh

.PHONY: verify-runtimehooks
verify-runtimehooks: ## Check that the generated code of pkg/runtimehooks is current
	hack/verify-runtimehooks.sh

.PHONY: verify-control
verify-control: ## Check that the OpenAPI document of the control protocol and what clients have of it are current
	hack/verify-control.sh

.PHONY: verify-aggregated
verify-aggregated: ## Check that the generated code of examples/aggregated is current
	hack/verify-aggregated.sh

##@ Change

.PHONY: update
update: update-format update-tidy update-openapi update-validations update-featuregates update-runtimehooks update-control update-aggregated ## Format, tidy, and generate all generated code

.PHONY: update-format
update-format: ## Format the Go code
	gofmt -s -w .

.PHONY: update-tidy
update-tidy: ## Tidy go.mod and go.sum
	hack/tidy.sh

.PHONY: update-openapi
update-openapi: ## Regenerate the OpenAPI definitions
	hack/update-openapi.sh

.PHONY: update-validations
update-validations: ## Regenerate the declarative validation
	hack/update-validations.sh

.PHONY: update-featuregates
update-featuregates: ## Regenerate the feature gates of kube-apiserver
	hack/update-featuregates.sh

.PHONY: update-runtimehooks
update-runtimehooks: ## Regenerate the code for the types of pkg/runtimehooks
	hack/update-runtimehooks.sh

.PHONY: update-control
update-control: ## Regenerate the OpenAPI document of the control protocol and what clients have of it
	hack/update-control.sh

.PHONY: update-aggregated
update-aggregated: ## Regenerate the code for the types of examples/aggregated
	hack/update-aggregated.sh

# Tools aren't in go.mod, because go.mod would then have their dependencies.
$(GOLANGCI_LINT):
	GOBIN=$(@D) GOGC=400 go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION)

$(GORELEASER):
	GOBIN=$(@D) go install github.com/goreleaser/goreleaser/v2@$(GORELEASER_VERSION)

$(CYCLONEDX_GOMOD):
	GOBIN=$(@D) go install github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@$(CYCLONEDX_GOMOD_VERSION)

$(SITE_TOOLS):
	python3 -m venv $@ && $@/bin/pip install --quiet --disable-pip-version-check -r hack/site/requirements.txt || { rm -rf $@; exit 1; }
