# What can be asked for: make, or make help. Tools come from hack/tools/go.mod and are built on
# first use; the control plane comes from hack/controlplane/go.mod and is built once per version.

SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS   += --no-builtin-rules
.SILENT:
.DEFAULT_GOAL := help

# As the program is built: without C every package is compiled once for it and its tests, and test binaries are linked in half of the time.
export CGO_ENABLED ?= 0

ARGS     ?=
PKG      ?= ./test/journeys $(MODEL) ./test/... ./...
MODEL    := ./rollout/sim
RACED    := ./approvals ./dashboard ./dashboard/access ./gitsync ./gitsync/gitrepo ./internal/app ./internal/dialer ./internal/kube ./telemetry/notices ./telemetry/traces
# The rules of each type of forge, on a forge: thousands of processes of git.
FORGES   := ./forge/gitea ./forge/github ./forge/gitlab
# Tests of raced packages that only compute, for minutes under the race detector.
COMPUTES := ^(TestNothingFits|TestRecordFits|TestRecordIsFair)$$
# Tests of raced packages that repeat a journey many times: those of ./approvals are raced each night.
SWEEPS   := ^Test(Each|Attacks)
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
PLATFORMS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64
IMAGE    ?= ghcr.io/sluice-dev/sluice

# Without -trimpath, which is for what leaves this machine, the build cache serves the program, the demo and the tests: each package is compiled once.
GOBUILD  := CGO_ENABLED=0 go build -ldflags '-s -w -X main.version=$(VERSION)'
# Inside of the nodes' namespaces there is no network: what is built there is compiled before, with the flags that are used there.
INSIDE   := CGO_ENABLED=0 go build -o /dev/null -ldflags '-s -w'
TOOL     := go tool -modfile=hack/tools/go.mod
LINT     := $(TOOL) golangci-lint
HELM     := go tool -modfile=hack/helm/go.mod helm
HELM3    := go tool -modfile=hack/helm3/go.mod helm
FLUX     := go tool -modfile=hack/flux/go.mod -n kustomize-controller
WITHCP   := go run ./internal/testbed/controlplane/withcp
# No test needs what debuggers do: without it a test binary is linked in two thirds of the time. What go vet finds, make lint does.
FLAGS    := -timeout 60m -ldflags=-w -vet=off
MODULES  := . test hack/tools hack/actionlint hack/gitea hack/helm hack/helm3 hack/flux hack/controlplane hack/node hack/dataplane hack/oldest hack/prometheus

##@ Use

.PHONY: demo
demo: build helm ## Releases from git push to the last batch, approved on a forge, on a control plane of its own (ARGS=--keep leaves it running)
	go -C test build -ldflags=-w -o ../bin/demo ./demo
	bin/demo $(ARGS)

.PHONY: demo-traffic
demo-traffic: ## A canary as its users see it: the share of requests over time, through a real Gateway (root on Linux, as make test-node)
	cd test && go run ./node/withnode -build
	$(INSIDE) ./examples/service
	cd test && $(INSIDE) ./node/pause
	go -C test build -o ../bin/demo-traffic ./demo/traffic
	cd test && go run ./node/withnode -- ../bin/demo-traffic

.PHONY: build
build: ## bin/sluice, static, and by the names by which kubectl knows it
	$(GOBUILD) -o bin/sluice ./cmd/sluice
	ln -sf sluice bin/kubectl-sluice
	install -m 755 hack/kubectl_complete-sluice bin

##@ Release

.PHONY: dist
dist: ## dist/: a binary for each of PLATFORMS, install.yaml, checksums
	rm -rf dist
	for platform in $(PLATFORMS); do \
	  GOOS=$${platform%/*} GOARCH=$${platform#*/} $(GOBUILD) -trimpath -o "dist/sluice-$${platform%/*}-$${platform#*/}" ./cmd/sluice; \
	done
	go run -ldflags '-X main.version=$(VERSION)' ./cmd/sluice install --image $(IMAGE):$(VERSION) > dist/install.yaml
	cd dist && sha256sum -- * > SHA256SUMS

.PHONY: image
image: ## The image IMAGE:VERSION for this machine's processor, with Docker
	$(MAKE) dist PLATFORMS=linux/$$(go env GOARCH)
	docker build --platform linux/$$(go env GOARCH) --tag $(IMAGE):$(VERSION) $(ARGS) .

##@ Check

# Packages run in the order in which they are named: the journeys take longest and mostly wait, the model takes longest of what
# only computes.
.PHONY: helm
helm: # which tests run: to build it takes minutes, in which they would wait in vain
	$(HELM) version >/dev/null

.PHONY: test
test: helm ## Every test, on a real control plane (PKG=./rollout/... or PKG=./test/journeys for some)
	hack/test $(PKG) -- $(FLAGS) $(ARGS)

.PHONY: unit
unit: ## The tests that need neither a control plane nor Git, by their imports, without the slowest (make test-model, and what -short leaves out)
	hack/test $$(hack/packages neither ./... ./test/... | grep -vxF $(MODEL)) -- $(FLAGS) -short $(ARGS)

.PHONY: up
up: ## A control plane that stays, for make test to use: with it, one journey takes seconds
	$(WITHCP) -up

.PHONY: down
down: ## End the control plane of make up
	$(WITHCP) -down

# What decides is pure and has nothing to race. The forge on loopback is under the detector where approvals talk to it.
# More tests at a time than there are processors: most of them wait. It needs a C compiler.
.PHONY: race
race: ## The tests of what runs concurrently, under the race detector
	CGO_ENABLED=1 hack/test $(RACED) -- $(FLAGS) -race -parallel 8 -skip '$(COMPUTES)|$(SWEEPS)' $(ARGS)

.PHONY: test-unraced
test-unraced: helm ## The tests that make race, make test-model and make test-forges leave out
	hack/test $$(dirname $$(grep -lE '$(SWEEPS:^%=^func %)' $(addsuffix /*_test.go,$(RACED))) | sort -u) -- $(FLAGS) -run '$(SWEEPS)' $(ARGS)
	hack/test ./test/journeys ./test/... $$(go list ./... | grep -vxF "$$(go list $(RACED) $(MODEL) $(FORGES))") -- $(FLAGS) $(ARGS)

.PHONY: test-model
test-model: ## The planner in the simulated cluster: it only computes, and needs no control plane
	hack/test $(MODEL) -- $(FLAGS) $(ARGS)

.PHONY: test-forges
test-forges: ## The rules that each client of a forge keeps, on GitHub's API, Gitea and GitLab's API
	hack/test $(FORGES) -- $(FLAGS) $(ARGS)

# What measures time or memory means nothing under the race detector, nor beside other tests.
.PHONY: test-measured
test-measured: ## The tests of raced packages that measure time and memory, or only compute
	hack/test ./gitsync ./telemetry/notices -- $(FLAGS) -parallel 1 -run '^TestHostileServers$$|$(COMPUTES)' $(ARGS)

# What takes too long for each push. Random walks have a seed, which repeats them.
SEED ?= $(shell date +%Y%m%d)
PART ?= 1/7
PARALLEL_CODE := ./approvals ./approvals/webhook ./cli/... ./forge/github ./internal/testbed/devforge ./rollout

.PHONY: nightly-moments
nightly-moments: ## Every fault before every write, and an API server that is away for a minute
	hack/test ./test/journeys -- -timeout 150m -ldflags=-w -every-moment -deep $(ARGS)

.PHONY: nightly-answers
nightly-answers: ## Every kind of bad answer of the forge to every request
	hack/test ./approvals -- -timeout 150m -ldflags=-w -run '^TestEach' -every-answer $(ARGS)

.PHONY: nightly-node
nightly-node: ## Every journey with real containers (root on Linux, as make test-node)
	$(MAKE) test-node ARGS='-every-scenario $(ARGS)'

.PHONY: nightly-walks
nightly-walks: ## Random releases from another seed (SEED=N repeats one)
	echo "seed $(SEED)"
	hack/test ./rollout/sim -- -timeout 150m -run '^TestWalks' -rapid.seed=$(SEED) -rapid.checks=2000 $(ARGS)

.PHONY: nightly-orders
nightly-orders: ## Every order of events, whole, in a seventh of the families (PART=3/7 for the third)
	hack/test ./rollout/sim -- -timeout 330m -run '^TestEveryOrderOfEvents$$' -deep -part=$(PART) $(ARGS)

.PHONY: nightly-kinds
nightly-kinds: ## Every order of events of StatefulSets, DaemonSets and trains, and with traffic, as many states as a night has time for
	hack/test ./rollout/sim -- -timeout 330m -run '^TestEveryOrderOf(EventsOfEachKind|Requests|Matches|Trains)$$' -states=4000 $(ARGS)

.PHONY: nightly-appliers
nightly-appliers: helm ## Releases that follow real Flux, Argo CD, Helm 3 and more charts, which take minutes to build or to run
	$(HELM3) version >/dev/null
	$(FLUX) >/dev/null
	export GOTOOLCHAIN=auto; go -C hack/argocd mod tidy -diff && go -C hack/argocd vet .
	hack/test ./test/journeys -- -timeout 60m -ldflags=-w -run '^TestFollow' -every-applier $(ARGS)

# Tests that have none of a flag refuse it: this finds a target that would never run, in seconds.
.PHONY: verify-nightly
verify-nightly: ## The nightly targets, without the tests
	$(MAKE) nightly-moments nightly-answers nightly-walks nightly-orders nightly-kinds ARGS='-list=none -ldflags=-w -vet=off'
	cd test && go test $(FLAGS) ./cluster -every-scenario -list=none
	cd test && go test $(FLAGS) ./journeys -every-applier -list=none

.PHONY: nightly-race
nightly-race: ## The race detector for what make race leaves out
	CGO_ENABLED=1 hack/test $(PARALLEL_CODE) -- $(FLAGS) -race $(ARGS)

.PHONY: nightly-judge
nightly-judge: ## The promises of the judge of metrics, on 10,000 releases of each world
	go run ./judge/table

.PHONY: nightly-platforms
nightly-platforms: ## The command compiles where people run it, though tests run on Linux alone
	for platform in darwin/arm64 windows/amd64; do \
	  GOOS=$${platform%/*} GOARCH=$${platform#*/} CGO_ENABLED=0 go build -o /dev/null ./cmd/sluice; \
	done

.PHONY: build-node
build-node: # what test-node takes, and its test runner
	go tool -modfile=hack/tools/go.mod gotestsum --version >/dev/null
	cd test && go run ./node/withnode -build
	$(INSIDE) ./cmd/sluice
	$(INSIDE) ./examples/service
	cd test && $(INSIDE) ./cluster/load
	cd test && $(INSIDE) ./node/pause
	go -C test test -vet=off -run '^$$' ./cluster ./demo/traffic ./node/withnode >/dev/null

# The demo has a controller of its own, and so a cluster of its own.
ONNODES := go run ./node/withnode -- go tool -modfile=../hack/tools/go.mod gotestsum --format standard-verbose -- -timeout 30m -vet=off -count=1

.PHONY: test-node
test-node: build-node ## Journeys with real containers, on two kubelets of this machine, with a data plane, its demo and Prometheus (root on Linux)
	cd test && $(ONNODES) -parallel=3 ./cluster $(ARGS)
	$(if $(ARGS),,cd test && $(ONNODES) ./demo/traffic)

.PHONY: test-kind
test-kind: ## The same journeys on a cluster of kind's (where Docker is)
	test/kind/run $(ARGS)

.PHONY: verify
verify: verify-generated verify-modules verify-crd verify-chart verify-alerts verify-workflows lint ## Generated files current, modules tidy, CRDs, chart, workflows, lint, imports

.PHONY: verify-generated
verify-generated:
	out=$$(mktemp -d); trap 'rm -rf "$$out"' EXIT; hack/tools/generate "$$out"; stale=; \
	while read -r file; do diff -u "$$file" "$$out/$$file" || stale=1; done < <(cd "$$out" && find . -type f); \
	[ -z "$$stale" ] || { echo 'Generated files are not current: run make generate.' >&2; exit 1; }

.PHONY: verify-modules
verify-modules:
	for module in $(MODULES); do (cd $$module && go mod tidy -diff) || { echo "Run go mod tidy in $$module." >&2; exit 1; }; done

.PHONY: verify-crd
verify-crd: # by the oldest Kubernetes that is supported; tests have the newest
	go -C hack/oldest run . $(abspath $(wildcard config/crd/rollouts.sluice.dev_*.yaml))

.PHONY: verify-chart
verify-chart:
	for values in charts/sluice/values.yaml charts/testdata/all.yaml; do \
	  $(HELM) lint --quiet --strict charts/sluice --values "$$values"; \
	  $(HELM) template sluice charts/sluice --values "$$values" >/dev/null; \
	done

.PHONY: verify-alerts
verify-alerts: # and the dashboard, by Prometheus' own parser and engine, and by the schema that Grafana publishes
	go -C hack/prometheus test -vet=off -count=1 .

.PHONY: verify-workflows
verify-workflows: # and the one that the cookbook has
	go tool -modfile=hack/actionlint/go.mod actionlint
	awk '/^```$$/ { inside = 0 } before == "```yaml" && /^name: / { inside = 1 } inside { print } { before = $$0 }' docs/cookbook.md | \
	  go tool -modfile=hack/actionlint/go.mod actionlint -

.PHONY: lint
lint: ## Lint, formatting and import rules (.golangci.yml)
	failed=; for module in . test; do \
	  (cd $$module && go tool -modfile=$(abspath hack/tools/go.mod) golangci-lint run --show-stats=false) || failed=1; \
	done; [ -z "$$failed" ]

.PHONY: bench
bench: ## Speed next to the native rolling update
	go -C test build -o ../bin/bench ./bench
	bin/bench $(ARGS)

.PHONY: reliability
reliability: ## The tests that docs/develop/reliability.yaml names, with how many cases they ran and their figures
	$(WITHCP) -- hack/reliability $(ARGS)

##@ Change

.PHONY: generate
generate: ## Deep copies, CRDs, JSON schemas, RBAC role, and pages of docs/ from the source
	hack/tools/generate .

.PHONY: screenshots
screenshots: ## The pictures of the dashboard in docs/images, of real releases in Chromium
	hack/test ./test/browser -- $(FLAGS) -count=1 -run '^TestScreenshots$$' -screenshots=$(CURDIR)/docs/images

# Grafana itself is not run. make demo ARGS='--keep --metrics-address=127.0.0.1:8080' makes the data for a Prometheus that scrapes it every 5s.
PROMETHEUS ?= http://127.0.0.1:9090
MINUTES    ?= 15
.PHONY: grafana-picture
grafana-picture: ## docs/images/grafana.png: the Grafana dashboard with the last MINUTES of PROMETHEUS, drawn by Grafana's libraries (npm, Chromium)
	hack/grafana/picture $(PROMETHEUS) $(MINUTES) docs/images/grafana.png

.PHONY: fmt
fmt: ## Format the source
	$(LINT) fmt

.PHONY: controlplane
controlplane: ## Build the control plane of demo, tests and bench, if this version is not cached yet
	$(WITHCP) -- true

.PHONY: gitea
gitea: # which tests run; it takes a C compiler
	$(WITHCP) -gitea

.PHONY: clean
clean: ## Remove what was built here (caches outside the checkout stay)
	rm -rf bin dist

.PHONY: help
help: ## This list
	awk -F ':.*## ' '/^##@ / {printf "\n%s\n", substr($$0, 5)} /^[a-z-]+:.*## / {printf "  make %-17s %s\n", $$1, $$2}' Makefile
