# make run   replays the bundled order flow through a gate and prints what it admitted
# make test  runs every check there is, in every module; installs what it needs
# make help  lists the rest

SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# Nested modules come after the ones they build on.
MODULES   := . redisync adapter/grpclimit adapter/promlimit adapter/envoyrls adapter/pgconfig cmd/tickgate bench pprof proof
PLATFORMS := linux/arm64 linux/386 windows/amd64 darwin/arm64 js/wasm

FUZZTIME  ?= 3s     # for each target; 30s by make fuzz
RACE      := $(shell go env CGO_ENABLED)

# Every module must build by itself, from its replace directives.
export GOWORK := off
export GOFLAGS := -buildvcs=false

.PHONY: help run test tools check build cross vet fmt unit race tags fuzz-short fuzz vuln api bench load memory model faults demo-redis profile soak simulate scale doctor clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

run: ## replay the bundled order flow under the shipped trading policy
	@cd cmd/tickgate && go run . replay --policies testdata/trading.json testdata/itch-orders.csv

demo-redis: ## two processes share one budget through a Redis that is started for them
	@.ci/install redis-server=redis-server
	@cd redisync && go run ./demo

faults: ## budgets shared through real Redis servers under real faults; one table (about 20 minutes)
	@.ci/install redis-server=redis-server
	@cd redisync && go run ./faults

doctor: ## what this machine is like for a rate limiter
	@cd cmd/tickgate && go run . doctor

test: tools check unit race tags fuzz-short cross model ## everything; what CI runs
	@echo "all checks passed"

tools: ## install the servers and tools that tests start, as root on Debian; else tests say what they skip
	@.ci/install redis-server=redis-server initdb=postgresql spin=spin chromium=chromium

check: fmt vet build ## formatting, vet and builds of every module, without a download

fmt:
	@out=$$(gofmt -l $(MODULES)); if [ -n "$$out" ]; then echo "not formatted (run gofmt -w):"; echo "$$out"; exit 1; fi

vet:
	@for m in $(MODULES); do echo "vet $$m"; (cd $$m && go vet ./... && go mod verify >/dev/null && go mod tidy -diff); done

build:
	@for m in $(MODULES); do echo "build $$m"; (cd $$m && go build ./...); done

unit: ## tests of every module
	@for m in $(MODULES); do echo "test $$m"; (cd $$m && go test -timeout 10m ./...); done

race: ## tests of the concurrent packages under the race detector
	@if [ "$(RACE)" = 1 ]; then \
		for m in $(filter-out bench pprof,$(MODULES)); do (cd $$m && go test -race -short -timeout 15m ./...); done; \
	else echo "skipped: race tests (no cgo: install gcc)"; fi

tags: ## tests without assembly, and with invariants checked
	@go test -short -tags purego ./...
	@go test -short -tags invariants ./...

cross: ## build and vet for the other platforms
	@for p in $(PLATFORMS); do echo "cross $$p"; \
		GOOS=$${p%/*} GOARCH=$${p#*/} CGO_ENABLED=0 go vet ./... && \
		(cd cmd/tickgate && GOOS=$${p%/*} GOARCH=$${p#*/} CGO_ENABLED=0 go build -o /dev/null .); done
	@echo "run linux/386"; GOARCH=386 CGO_ENABLED=0 go test -short . ./bucket ./shard ./policy ./clock ./ratecompat ./idem

fuzz-short: ## every fuzz target for FUZZTIME
	@for m in $(MODULES); do .ci/fuzz $$m $(FUZZTIME); done

api: ## write down anew what the packages of the root module export
	@go test -run TestAPI . -update-api && git diff --stat testdata/api

vuln: ## known vulnerabilities of what every module requires; needs the network
	@for m in $(MODULES); do echo "vuln $$m"; (cd $$m && go run golang.org/x/vuln/cmd/govulncheck@v1.9.0 ./...) || \
		{ echo "not checked, or something was found: see above"; exit 1; }; done

fuzz: ## every fuzz target for 30 s
	@$(MAKE) fuzz-short FUZZTIME=30s

bench: ## measure everything beside the floor and the peers; reports in bench/out (at most 10 minutes; leave the machine alone)
	@cd bench && go run ./cmd/report

load: ## HTTP with wrk, bare and behind the limiter, the check API, then a million requests of 100,000 callers (about 8 minutes)
	@.ci/install wrk=wrk
	@cd bench && go run ./load && go run ./load -take && go run ./load -growth

profile: ## profiles of every path, with graphs; fails where a decision locks, waits or allocates (about 1 minute)
	@.ci/install redis-server=redis-server
	@cd pprof && go run ./capture

soak: ## ten minutes of churn, changes, time jumps and evictions, with invariants checked
	@.ci/install redis-server=redis-server
	@cd proof && go run -tags invariants ./soak

simulate: ## budgets shared by up to 1,000 nodes, in virtual time (about 2 minutes)
	@cd redisync && go run ./simulate

scale: ## cost of a decision and bytes for a key, from 1,000 keys to 10 million
	@cd bench && go run ./cmd/scale

memory: ## bytes for a key and garbage collection with a million keys, each library in its own process
	@cd bench && go run ./cmd/memory -lib all

model: ## check the models of the protocol with spin
	@.ci/install spin=spin
	@if command -v spin >/dev/null; then cd proof && go run ./cmd/model; \
	else echo "skipped: the models (spin is not installed; on Debian: apt-get install spin)"; fi

clean: ## remove what the targets above leave behind
	@rm -rf bin bench/out; go clean -testcache -fuzzcache
