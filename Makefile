# make setup   installs what is missing: Go (into .tools/), LLVM 19 and its linker
# make demo    compiles SqueezeNet 1.1 and runs it on two pictures
# make build   leaves the command at bin/texel
# make test    vet, staticcheck and every test
# make bench   how fast the models are here
# make bench-schedules   what the traces of docs/schedules reach: time here, models and counts of AArch64
# make fuzz    the fuzz targets, FUZZTIME each
# make fuzz-schedule   SCHEDULES random schedules of random programs from SEED on, interpreted against the programs
# make lint    vet, staticcheck and formatting
# make grammar         the lexer and parser of Relay text from relay/relaytext/Relay.g4 (needs java and npm)
# make grammar-check   whether what is committed is what the grammar makes

GO = $(shell scripts/setup.sh go)
export CGO_ENABLED = 0
FUZZTIME ?= 20s
SCHEDULES ?= 200000
SEED ?= 1
DEMO = testdata/squeezenet1.1
PICTURE = --crop center --resize area --channels bgr --mean 104,117,123 --labels $(DEMO)/labels.txt --top 3

.PHONY: setup setup-test build demo test lint fuzz fuzz-schedule bench bench-schedules grammar grammar-check clean

setup:
	@scripts/setup.sh build

setup-test: setup
	@scripts/setup.sh test

build: setup
	@$(GO) build -trimpath -o bin/texel ./cmd/texel

demo: build
	@mkdir -p build
	bin/texel compile $(DEMO)/model.onnx -o build/squeezenet1.1.texel
	bin/texel run build/squeezenet1.1.texel --input image=$(DEMO)/picture.png $(PICTURE)
	bin/texel run build/squeezenet1.1.texel --input image=$(DEMO)/cat.png $(PICTURE)
	@bin/texel inspect build/squeezenet1.1.texel | grep '^memory'

lint: setup
	@test -z "$$($(dir $(GO))gofmt -l $$(git ls-files '*.go'))" || { $(dir $(GO))gofmt -l $$(git ls-files '*.go'); echo "these files are not formatted"; exit 1; }
	$(GO) vet ./...
	$(GO) tool staticcheck ./...

test: setup-test lint
	$(GO) test ./...

fuzz: setup
	scripts/fuzz.sh $(FUZZTIME)

fuzz-schedule: setup
	$(GO) test ./internal/irgen -run TestRandomSchedules -v -count 1 -timeout 0 -args -schedules $(SCHEDULES) -seed $(SEED)

bench: build
	scripts/bench.sh

bench-schedules: setup-test
	$(GO) test ./codegen/llvm -run 'FigureLoops' -v -count 1
	$(GO) test ./codegen/llvm -run '^$$' -bench Figure -benchtime 1x

grammar:
	@scripts/grammar.sh

grammar-check:
	@rm -rf build/grammar && scripts/grammar.sh build/grammar
	@for f in build/grammar/*; do diff -q $$f relay/relaytext/grammar/ || exit 1; done
	@echo "the generated code is that of the grammar"

clean:
	rm -rf bin build
