.DEFAULT_GOAL := help
.PHONY: help demo test test-all unit fmt lint measures gen fuzz mutations soak bench bench-turns dashboard dashboard-test prometheus-test release audit-deps release-test tidy install-tools

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

demo: ## fill a throw-away server with the examples and some dirt, and audit it (needs only Go)
	go run ./cmd/keywright demo

test: ## the gate, as CI runs it: install what is missing and run the certain part of the tests
	.ci/run

test-all: ## all tests: races, campaigns, kills, mutants, compilers, databases, the browser, new seeds
	scripts/test-all.sh

unit: ## the tests that need no server
	go test ./audit ./keyspace/... ./connect/slot ./connect/topology ./infer/...

fmt: ## format Go code and the example declarations
	git ls-files '*.go' | xargs gofmt -s -w
	go run ./cmd/keywright fmt -w examples bench

.bin/staticcheck:
	GOWORK=off GOBIN="$$PWD/.bin" go install honnef.co/go/tools/cmd/staticcheck@$$(sed -n 's/^staticcheck_version=//p' scripts/install-test-deps.sh)

lint: .bin/staticcheck ## vet, staticcheck and the laws of the house
	go test ./internal/arch
	go vet ./... ./cmd/keywright/...
	.bin/staticcheck ./... ./cmd/keywright/... ./cmd/keywrightd/internal/...

measures: ## print how long functions, files and packages are, what is tested and documented, each with its goal
	go run ./internal/arch/measures

gen: ## write the generated documents and code
	go generate ./... ./cmd/keywright/...
	for f in $$(git grep -l '^gen:' -- 'examples/*/keyspace.yaml' 'bench/*/keyspace.yaml' 'internal/*/keyspace.yaml'); do go run ./cmd/keywright gen --file $$f; done

FUZZTIME ?= 10m
fuzz: ## fuzz every target for FUZZTIME (10m)
	@for t in $$(grep -rhoE --include=*_test.go '^func Fuzz\w+' . | awk '{print $$2}' | sort -u); do \
	  for p in $$(grep -rlE --include=*_test.go "^func $$t\(" . | xargs -n1 dirname | sort -u); do \
	    echo "== $$p $$t"; (cd $$p && go test -run '^$$' -fuzz "^$$t$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 5s .) || exit 1; done; done

mutations: ## take each guard out of the code: a test must fail by what it asserts
	KEYWRIGHT_MUTATIONS=all go test -timeout 8h -run 'Mutations|TestGuards$$' ./... ./fallback/bbolt
	cd examples && GOWORK=off KEYWRIGHT_MUTATIONS=all go test -timeout 2h -run 'TestMutations$$' ./harca/memory

soak: export ALL_TESTS=1
soak: ## the tests that do harm to servers, fifty times
	go test -count=50 -timeout 4h -run 'Harm|Never|Cut|Silent' ./source/server
	KEYWRIGHT_KILLS=200 go test -timeout 1h -run 'TestKill' -v ./queue ./event ./fallback/bbolt ./apply/... ./entity/pressure ./cache ./counter
	KEYWRIGHT_KILLS=200 go test -timeout 1h -run 'TestKill|TestAdoptionIsKilled' -v ./queue ./fallback/bbolt ./apply/... ./value/seal/reseal
	KEYWRIGHT_KILLS=500 KEYWRIGHT_SOAK=100000 go test -timeout 2h -run 'TestKill|TestWalks' -v ./migrate/...
	KEYWRIGHT_SOAK=100000 go test -timeout 1h -run 'TestDrains|TestBacklogs|TestMany' -v ./queue
	KEYWRIGHT_SOAK=100000 go test -timeout 1h -run 'TestKilledConsumers' -v ./event
	KEYWRIGHT_SOAK=1 go test -p 1 -timeout 2h -run 'TestBacklog$$|TestNoScriptIs|TestScriptsAreBounded|TestLongLists' ./lock ./typed ./limit ./counter ./ranking ./cache ./event ./entity ./value/seal/reseal # by milliseconds, too
	KEYWRIGHT_DECLARATIONS=500 go test -timeout 4h -run 'TestEveryPlaceholderInEveryPlace$$|TestHostileTextsCompile' -v ./gen/conformance
	KEYWRIGHT_KILLS=200 KEYWRIGHT_SOAK=100000 go test -timeout 1h -run 'TestKills|TestFaults' -v ./entity
	KEYWRIGHT_SOAK=1 go test -timeout 1h -run Found ./fallback/bbolt
	KEYWRIGHT_SOAK=2000 go test -timeout 2h -run 'TestGenerated' -v ./gen/acl
	KEYWRIGHT_SOAK=10 KEYWRIGHT_KILLS=200 go test -timeout 4h -run 'TestHistory|TestProcesses' -v ./lock
	go test -count=20 -timeout 4h -run 'Processes|Failovers' ./lock
	cd cmd/keywright && KEYWRIGHT_KILLS=200 KEYWRIGHT_SOAK=200000 KEYWRIGHT_FIELDS=1000000 go test -timeout 4h -run "TestKilledBackups|TestKilledPlans|TestKilledACLApply|TestKilledVerbs|TestKilledJanitor|TestKilledServers|TestStoppedVerbs|TestVerbsOverConnectionsThatBreak|TestNoTornPairs|TestClusterVerbs|TestManyFields|TestWhatMovesTakesLittleMemory" -v .
	cd cmd/keywright && KEYWRIGHT_SOAK=500 go test -timeout 1h -run TestReportsAddUp ./internal/command
	cd cmd/keywright && KEYWRIGHT_SOAK=2000 go test -timeout 2h -run TestMemoryStaysFlat -v ./internal/serve
	cd cmd/keywright && go test -count=20 -timeout 4h -run TestVerbsOnAClusterThatFailsOver ./internal/command
	cd cmd/keywright && KEYWRIGHT_SOAK=20000 go test -timeout 1h -run TestSchemaAndLoader ./internal/command
	KEYWRIGHT_ADVERSARIES=20000 go test -timeout 1h -run TestNoServerEndsAProgram ./internal/wire
	KEYWRIGHT_SOAK=1 go test -timeout 1h -run 'TestNoise|Hold$$' -rapid.checks=3000 ./infer
	KEYWRIGHT_SOAK=3000 go test -timeout 1h -run 'BruteForce|EveryStyle|Definition' ./keyspace/pattern ./keyspace/format ./connect/slot
	go test -timeout 2h -run 'Relations|Inverts|SameSlot|GoesOn|AddUp' -rapid.checks=20000 ./keyspace/pattern ./audit
	KEYWRIGHT_MUTATIONS=all go test -timeout 1h -run "TestMutations|TestGuards|TestGuardMutations" -v ./kernel ./queue ./kernel/guard ./gen/acl ./entity/...
	cd examples && GOWORK=off KEYWRIGHT_KILLS=100 go test -timeout 1h -run TestSystem -v ./poppobuilder
	cd examples && GOWORK=off KEYWRIGHT_KILLS=100 go test -timeout 1h -run 'TestSystem|TestMigration$$' -v ./cunningbot

bench: ## the figures of bench/README.md
	cd bench && for c in matchbench auditbench rdbbench snapbench runtimebench rankbench cachebench startbench lockbench queuebench entitybench movebench migratebench; do GOWORK=off go run ./cmd/$$c || exit 1; done

OF ?= cachebench
bench-turns: ## run a benchmark of the commit THEN and of this tree in turn: make bench-turns THEN=v1 OF=cachebench
	scripts/bench-turns.sh $(THEN) $(OF)

dashboard: ## build the dashboard's files from their sources (needs npm)
	scripts/build-dashboard.sh

dashboard-test: ## look at each page of the dashboard in Chromium, with made-up answers and with a real server
	scripts/install-test-deps.sh chromium
	cd cmd/keywright && go test -tags dashboard -count=1 -timeout 30m -v -run TestInABrowser ./internal/serve/dash

prometheus-test: ## let a real Prometheus scrape `keywright serve` and evaluate the generated rules and queries
	scripts/install-test-deps.sh prometheus
	go test -tags prometheus -count=1 -v -run TestPromtool ./gen/prometheus
	cd cmd/keywright && go test -tags prometheus -count=1 -v -run 'TestPrometheusEvaluates|TestPromtoolReads|TestGeneratedNames' .

release: ## make the release VERSION (as in VERSION=0.1.0) from a clean tree: tags, and files in dist, signed by SIGN_KEY; it pushes nothing
	@mkdir -p .bin && cd cmd/release && GOWORK=off GOFLAGS= go build -o ../../.bin/release . && exec ../../.bin/release -repo ../.. -version "$(VERSION)" -sign-key "$(SIGN_KEY)" $(if $(filter 1,$(ACCEPT_FINDINGS)),-accept-findings)

audit-deps: ## ask public databases for known vulnerabilities of what a release has, as make release does
	scripts/audit-deps.sh

release-test: ## make a release of this tree, install it from a proxy of files, build a program with it (minutes)
	GOWORK=off go mod download all # a program of a user lists them, and the proxy of the tests is the cache
	scripts/audit-deps.sh install || true # without it the answers of govulncheck are not tested
	cd cmd/release && GOWORK=off go test -vet=all -timeout 30m ./...

tidy: ## tidy every module
	GOWORK=off go mod tidy
	cd cmd/keywright && go mod edit -replace github.com/keywright/keywright=../.. && GOWORK=off go mod tidy; go mod edit -dropreplace github.com/keywright/keywright
	cd cmd/keywrightd && go mod edit -replace github.com/keywright/keywright=../.. && GOWORK=off go mod tidy; go mod edit -dropreplace github.com/keywright/keywright
	for m in metrics tracing; do (cd $$m && go mod edit -replace github.com/keywright/keywright=.. && GOWORK=off go mod tidy; go mod edit -dropreplace github.com/keywright/keywright); done
	cd fallback/bbolt && go mod edit -replace github.com/keywright/keywright=../.. && GOWORK=off go mod tidy; go mod edit -dropreplace github.com/keywright/keywright
	cd cmd/release && GOWORK=off go mod tidy
	cd bench && GOWORK=off go mod tidy -e # a test of redsync imports rueidiscompat, which not every proxy has
	cd examples && GOWORK=off go mod tidy

install-tools: ## install redis, valkey, redis-py, staticcheck, and by npm the YAML language server, TypeScript and ioredis
	scripts/install-test-deps.sh
