# The commands for developers. `make` alone lists them.

SHELL := /bin/sh
.DEFAULT_GOAL := help

# Packages to work on, as in: make test PKG=./internal/dispatch/ledger/...
PKG ?= ./...
# Order of the tests and draws of the property tests. A fixed seed makes sure that a
# failure comes from the change; SEED=on uses a new seed each time.
SEED ?= 1
# How long each fuzz target runs.
FUZZTIME ?= 10s
# Runs a tool of tools/go.mod, which is built once and then cached.
TOOL = go tool -modfile=$(CURDIR)/tools/go.mod

.PHONY: help
help: ## list the commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/\1	\2/' | \
		while IFS='	' read -r name text; do printf '  make %-8s %s\n' "$$name" "$$text"; done

.PHONY: build
build: ## build one static binary: bin/bezoar
	CGO_ENABLED=0 go build -trimpath -o bin/bezoar ./cmd/bezoar

# Without cgo, like the binary: then tests and the programs that they run share one
# compilation. make lint vets. Without debugging information some 120 test binaries
# link in two thirds of the time.
.PHONY: test
test: ## run every test in the order of SEED (1, or on for any), with PostgreSQL if available; lists the 20 slowest
ifeq ($(PKG),./...)
	CGO_ENABLED=0 scripts/with-servers --mariadb --rabbitmq --redis scripts/go-test $(SEED) -vet=off -ldflags=-s -timeout=20m ./... -- clients bench bench/queue bench/outbox tools/check
else
	CGO_ENABLED=0 scripts/with-servers scripts/go-test $(SEED) -vet=off -ldflags=-s -timeout=20m $(PKG)
endif

.PHONY: race
race: ## run packages with goroutines under the race detector (needs a C compiler)
	CGO_ENABLED=1 scripts/with-servers scripts/go-test $(SEED) -vet=off -race -ldflags=-s -timeout=20m $(PKG)

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME (10s)
	@set -eu; for pkg in $$(go list $(PKG)); do \
		for target in $$(go test -list '^Fuzz' "$$pkg" | grep '^Fuzz' || true); do \
			echo "$$pkg $$target"; \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) "$$pkg"; \
		done; \
	done

.PHONY: bench
bench: build ## run the benchmarks, then compare with nginx, HAProxy and Go's ReverseProxy
	go test -run '^$$' -bench . -benchmem $(PKG)
	scripts/peers
	cd bench && go run ./gateway -bezoar $(CURDIR)/bin/bezoar && go run ./pill -bezoar $(CURDIR)/bin/bezoar -rows nginx-lenient,nginx-retry,haproxy-retry,haproxy-table,bezoar
	cd bench && go run ./overload -svg overload/overload.svg

.PHONY: attack
attack: build ## run every attack on real workers, or some: ROWS=header,shape (a minute per row)
	cd bench && go run ./attack -bezoar $(CURDIR)/bin/bezoar $(if $(ROWS),-rows $(ROWS)) $(ATTACK)

.PHONY: bench-brokers
bench-brokers: build ## compare bezoar work over message brokers with plain consumers that start the same child
	cd bench/queue && $(CURDIR)/scripts/with-servers --rabbitmq go run -mod=mod ./brokers -bezoar $(CURDIR)/bin/bezoar

.PHONY: bench-queue
bench-queue: build ## compare the queue with goqite, River, asynq on Redis and goaws (minutes)
	cd bench/queue && $(CURDIR)/scripts/with-servers go run -mod=mod . -bezoar $(CURDIR)/bin/bezoar

.PHONY: bench-outbox
bench-outbox: ## compare the outbox's relay with watermill-sql's forwarder, on PostgreSQL (minutes)
	cd bench/outbox && $(CURDIR)/scripts/with-servers go run -mod=mod .

.PHONY: cluster
cluster: build ## test three nodes over one PostgreSQL, in network namespaces; one is cut off for 20 s (root)
	cd bench && $(CURDIR)/scripts/with-servers go run ./cluster -bezoar $(CURDIR)/bin/bezoar

# Without cgo, like the tests, so that it reuses their compilation.
.PHONY: lint
lint: export CGO_ENABLED = 0
lint: ## run golangci-lint with .golangci.yaml, including go vet (the first run builds it: minutes)
	$(TOOL) golangci-lint run $(PKG)
ifeq ($(PKG),./...)
	GOOS=windows go build ./cmd/bezoar $$(go list ./... | grep -vE '/(internal|cmd|examples)(/|$$)') # what Go programs import
endif
	cd bench && $(TOOL) golangci-lint run -c ../.golangci.yaml ./...
	cd bench/queue && $(TOOL) golangci-lint run -c ../../.golangci.yaml ./...
	cd bench/outbox && $(TOOL) golangci-lint run -c ../../.golangci.yaml ./...
	cd clients && $(TOOL) golangci-lint run -c ../.golangci.yaml ./...
	cd tools/check && $(TOOL) golangci-lint run -c ../../.golangci.yaml ./...
	cd tools/release && $(TOOL) golangci-lint run -c ../../.golangci.yaml ./...

.PHONY: fmt
fmt: ## format the code as the linter requires
	$(TOOL) golangci-lint fmt

.PHONY: arch
arch: ## check layers, sizes and house rules
	CGO_ENABLED=0 go test -count=1 ./internal/test/arch

.PHONY: sim
sim: ## simulate the policies in virtual time: 200 seeds of 10,000 workers and a million requests
	BEZOAR_SIM_SEEDS=200 go test -count=1 -v -timeout 2h -run TestLawsHold ./internal/test/sim

.PHONY: soak
soak: ## run the tests that take hours: all random games, kills and clients, the race detector three times, each fuzz target for five minutes
	BEZOAR_SOAK=1 CGO_ENABLED=0 scripts/with-servers --mariadb --rabbitmq --redis scripts/go-test $(SEED) -vet=off -count=1 -timeout=4h ./... -- clients
	CGO_ENABLED=1 scripts/with-servers go test -vet=off -race -shuffle=on -count=3 -timeout 90m $(PKG)
	$(MAKE) fuzz FUZZTIME=5m

.PHONY: golden
golden: ## rewrite golden files; read the diff before you commit it
	go test $$(grep -rl --include='*_test.go' /internal/test/golden . | xargs -n 1 dirname | sort -u) -update

.PHONY: picture
picture: ## take README's picture of the console again (needs Chromium)
	BEZOAR_PICTURE=1 CGO_ENABLED=0 go test -vet=off -count=1 -run TestPictureOfTheConsole ./cmd/bezoar

.PHONY: release-test
release-test: ## build a release twice, compare the two, install and run the files in chroots (root, debootstrap; minutes)
	@set -eu; made=$$(mktemp -d); trap 'rm -rf "$$made"' EXIT; \
		scripts/release "$$made/one"; \
		scripts/release "$$made/two"; \
		cd tools/release && BEZOAR_RELEASE="$$made/one" BEZOAR_RELEASE_AGAIN="$$made/two" go test -count=1 -v .

.PHONY: walk
walk: ## time the way from a fresh Debian with only the package to a contained request (root, debootstrap; minutes)
	@set -eu; made=$$(mktemp -d); trap 'rm -rf "$$made"' EXIT; \
		PLATFORMS="linux/$$(go env GOARCH)" scripts/release "$$made/one"; \
		cd tools/release && BEZOAR_RELEASE="$$made/one" go test -count=1 -v -run TestFromNothingToAContainedRequest .
