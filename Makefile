# `make demo` and `make test` need git, make, curl and a C compiler. They install Rust into the home directory if it is missing.

SHELL := /bin/bash
with_rust := .ci/with-rust
steps := $(shell .ci/run --steps)

.PHONY: help demo figures test $(steps) build instruments site install install-lab deb rpm static static-aarch64 bench bench-peers busy soak kernel-soak mutants mutants-of-change clean

help: ## Show what can be made
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "make %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo 'The steps of `make test`, one at a time: $(steps)'

# The tool as the tests have it is built in half of the time, and is fast enough for such a link.
demo: ## Watch PCC, CUBIC and BBR carry the same file over a satellite link
	$(with_rust) .ci/tool race
	target/debug/pcc-lab race satellite

figures: instruments ## Measure every figure in the lab and write target/lab-report.html; stop and continue at any time
	target/release/pcc-lab build
	target/release/pcc-lab run all >target/lab-figures.txt || [ $$? = 3 ]
	target/release/pcc-lab report -o target/lab-report.html --csv target/lab-tables --pictures target/lab-pictures
	target/release/pcc-lab check || [ $$? = 1 ] || [ $$? = 3 ]

test: ## Everything that continuous integration runs
	@.ci/run

$(steps):
	@$(with_rust) .ci/steps $@

build: ## Build target/release/pcc, with PCC for the kernel where clang is
	$(with_rust) .ci/with-object cargo build --release --locked -p pcc-cli

instruments: ## Build target/release/pcc-lab, and beside it the pcc that the lab runs
	$(with_rust) .ci/with-object cargo build --release --locked -p pcc-instruments -p pcc-cli

site: ## The guides as a book, with a search and the playground, as a folder of files, target/site
	$(with_rust) site/make

install: ## Install pcc into ~/.cargo/bin
	$(with_rust) .ci/with-object cargo install --locked --path crates/cli

install-lab: ## Install pcc-lab into ~/.cargo/bin: simulations, races, experiments, the analysis of utilities
	$(with_rust) cargo install --locked --path crates/instruments

deb: build ## Make Debian packages of the tool and of the kernel's module (DKMS), in target/packages
	@packaging/deb

rpm: deb ## The same tool as an RPM package, in target/packages; needs rpmbuild
	@packaging/rpm

static: ## The tool as one file that needs no C library, target/static/pcc-x86_64; needs musl-tools
	@$(with_rust) packaging/static

bench: build ## Cost of one packet in the core: time, allocations, memory, instructions; then `make busy`
	@$(with_rust) .ci/bench
	@.ci/busy

bench-peers: ## One QUIC stream over loopback: PCC beside quinn and s2n-quic as released; ROUNDS=5 SECONDS_EACH=3
	$(with_rust) cargo run --release --locked --manifest-path benches/peers/Cargo.toml --target-dir target/peers -- $(or $(ROUNDS),5) $(or $(SECONDS_EACH),3)

busy: build ## PCC, CUBIC and BBR on a host that is busy with something else: BUSY=4 processes beside the sender
	@.ci/busy

mutants: ## Which changes of the core's decisions no test notices; needs cargo-mutants, takes hours
	@$(with_rust) .ci/mutants

mutants-of-change: ## The same for the lines of the core that differ from SINCE=main, with the core's unit tests: minutes
	@SINCE=$(or $(SINCE),main) $(with_rust) .ci/mutants

soak: ## Ten minutes of clients that come and go, politely or not: a server must hold nothing of them at the end
	@$(with_rust) .ci/soak

static-aarch64: ## The static tool for aarch64 too, started on an emulated processor
	@$(with_rust) .ci/steps static_aarch64

kernel-soak: ## The step `kernel` with 2,000 connections of module and BPF in the virtual machine: nothing may be left
	@$(with_rust) .ci/steps kernel_soak

clean: ## Remove everything that was built
	rm -rf target
