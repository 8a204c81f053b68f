# make quickstart   sets up this machine, builds, starts four servers, does real work on them and shows it
# make test         sets up this machine and runs every check of a change
# make proof        everything that takes longer; the reports go to docs/proof
# make package      builds a .deb and a tarball for all distributions in target/packages
# make install      installs the program (PREFIX, DESTDIR)

PREFIX = /usr/local
DESTDIR =
BIN = $(DESTDIR)$(PREFIX)/bin

# Where rustup puts the toolchain.
export PATH := $(HOME)/.cargo/bin:$(PATH)

.PHONY: build quickstart test proof package install uninstall

build:
	cargo build --release --package futago-cli

quickstart:
	tests/setup
	$(MAKE) build
	tests/with-futago tests/quickstart

test:
	tests/setup --tests
	cargo xtask ci

proof:
	tests/setup --proof
	cargo xtask proof

package:
	tests/setup --packages
	packaging/build

install: build
	install -D -m 755 target/release/futago $(BIN)/futago

uninstall:
	rm -f $(BIN)/futago
