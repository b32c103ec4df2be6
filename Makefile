# Needs GNU make 3.81 or newer (the one of macOS) and Go; what else a target
# needs, it brings or says how to get.
SHELL := /bin/sh
.DEFAULT_GOAL := help

GOLANGCI_LINT_VERSION := v2.15.0
GOLANGCI_LINT := bin/golangci-lint-$(GOLANGCI_LINT_VERSION)

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)

# The race detector; "make test RACE=" does without it, and without a C compiler.
RACE ?= -race
# Bounds the tests of one package: a test that hangs must not hang the run.
TEST_TIMEOUT ?= 5m
# How long "make fuzz" spends on each target, or how often it runs it: 20000x.
FUZZTIME ?= 15s
# Passed to the sandbox by "make run". With --database-url no PostgreSQL is looked
# for here; a server that is named for tests is none of the sandbox's.
SANDBOX_FLAGS ?=

# Binaries run anywhere without a libc, and build, vet and lint share one set of
# compiled packages. Only the race detector needs cgo.
export CGO_ENABLED := 0

# A checkout of another user, or no git at all, must not stop a build; the version
# comes from VERSION instead.
GO_BUILD := go build -buildvcs=false

.PHONY: help
help: ## Show this list
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' Makefile

.PHONY: run
run: build ## Start sperrd with everything around it on this machine (SANDBOX_FLAGS=...)
	$(if $(findstring --database-url,$(SANDBOX_FLAGS)),,@env -u SPERRD_TEST_DATABASE_URL .ci/postgres)
	bin/sandbox --sperrd bin/sperrd $(SANDBOX_FLAGS)

.PHONY: test
test: go $(if $(RACE),cc) postgres ## Run all tests with the race detector (RACE= without it)
	$(if $(RACE),CGO_ENABLED=1 )go test $(RACE) -shuffle=on -count=1 -timeout $(TEST_TIMEOUT) ./...

.PHONY: build
build: go ## Build bin/sperrd and bin/sandbox, statically linked
	$(GO_BUILD) -ldflags '-X main.version=$(VERSION)' -o bin/sperrd ./cmd/sperrd
	$(GO_BUILD) -o bin/sandbox ./cmd/sandbox

.PHONY: lint
lint: $(GOLANGCI_LINT) ## Run golangci-lint (built into bin/ at the first call)
	$(GOLANGCI_LINT) run ./...

# Needs npx, which CI does without: the tests hold the document to the service.
.PHONY: openapi-lint
openapi-lint: ## Lint the OpenAPI document with a public linter (needs npx)
	REDOCLY_TELEMETRY=off npx --yes @redocly/cli@2.77.0 lint --config .redocly.yaml internal/api/openapi.yaml

.PHONY: fmt
fmt: $(GOLANGCI_LINT) ## Format all Go files with gofumpt
	$(GOLANGCI_LINT) fmt

.PHONY: fmt-check
fmt-check: $(GOLANGCI_LINT) ## Fail when gofumpt would change a file
	$(GOLANGCI_LINT) fmt --diff

.PHONY: vet
vet: go ## Run go vet
	go vet ./...

.PHONY: tidy-check
tidy-check: go ## Fail when go.mod or go.sum is not tidy
	go mod tidy -diff

.PHONY: check
check: ## Run what CI runs, on a tree where everything is committed
	.ci/run

.PHONY: golden
golden: go postgres ## Rewrite the golden files in testdata/ from what the code does now
	@packages=$$(grep -rlE 'flag\.Bool(Var)?\(.*"update"' --include='*_test.go' . | sed 's|/[^/]*$$||' | sort -u); \
	if [ -z "$$packages" ]; then echo "no package has golden files"; exit 0; fi; \
	set -x; go test -count=1 $$packages -update

# One package and one target at a time is all that go test fuzzes. Without a bound it
# spends most of a short time on making what is new to it smaller.
.PHONY: fuzz
fuzz: go ## Fuzz every target for FUZZTIME (15s); what it finds is kept in testdata/fuzz
	@targets=$$(grep -rE '^func Fuzz[A-Za-z0-9_]*\(' --include='*_test.go' . | sed -E 's|^(.*)/[^/]*:func (Fuzz[A-Za-z0-9_]*)\(.*|\1 \2|' | sort); \
	if [ -z "$$targets" ]; then echo "no package has fuzz targets"; exit 1; fi; \
	echo "$$targets" | while read -r package target; do \
		echo "$$package $$target"; \
		go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1s "$$package" </dev/null || exit 1; \
	done

.PHONY: postgres
postgres: ## Make sure that a PostgreSQL can be had for tests and sandbox
	@.ci/postgres

.PHONY: clean
clean: ## Remove what was built, the linter included
	rm -rf bin

.PHONY: go
go:
	@.ci/require-go

.PHONY: cc
cc: go
	@.ci/require-cc

# Not a dependency of the module: the linter's hundreds of modules would stand in
# go.mod. The version is pinned, and Go checks its hash.
$(GOLANGCI_LINT): | go
	@echo "Building golangci-lint $(GOLANGCI_LINT_VERSION), once; this takes about two minutes."
	GOBIN="$(CURDIR)/bin" go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION)
	@mv bin/golangci-lint $@
