# make quickstart   sets up this machine, builds, starts four servers, does real work on them and shows it
# make test         sets up this machine and runs every check of a change
# make proof        everything that takes longer; the reports go to docs/proof
# make package      builds a .deb and a tarball for all distributions in target/packages
# make install      installs the program, libfutago, libchfs and the tools of CHFS (PREFIX, DESTDIR)

PREFIX = /usr/local
DESTDIR =
BIN = $(DESTDIR)$(PREFIX)/bin
LIB = $(DESTDIR)$(PREFIX)/lib
INCLUDE = $(DESTDIR)$(PREFIX)/include
BUILT = $(or $(CARGO_TARGET_DIR),target)/release
VERSION = $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)
# Names of one program.
CHFS_TOOLS = chfind chfsctl chlist chmkdir chrmdir chstagein

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

install:
	cargo build --release --package futago-cli --package futago-chfs --package libfutago
	install -D -m 755 $(BUILT)/futago $(BIN)/futago
	install -D -m 755 $(BUILT)/chfs-tools $(BIN)/chfs-tools
	for tool in $(CHFS_TOOLS); do ln -sf chfs-tools $(BIN)/$$tool; done
	mkdir -p $(LIB)/pkgconfig
	install -m 644 $(BUILT)/libchfs.so $(LIB)/libchfs.so.0
	crates/libfutago/link $(BUILT)/libfutago.a $(LIB)/libfutago.so.0
	for name in chfs futago; do \
		ln -sf lib$$name.so.0 $(LIB)/lib$$name.so; \
		install -m 644 $(BUILT)/lib$$name.a $(LIB)/lib$$name.a; \
	done
	install -D -m 644 -t $(INCLUDE) crates/chfs/include/chfs.h crates/libfutago/include/futago.h
	for file in crates/chfs/chfs.pc crates/libfutago/futago.pc; do \
		sed 's|@PREFIX@|$(PREFIX)|; s|@VERSION@|$(VERSION)|' $$file.in >$(LIB)/pkgconfig/$${file##*/}; \
	done

uninstall:
	rm -f $(BIN)/futago $(BIN)/chfs-tools $(addprefix $(BIN)/,$(CHFS_TOOLS))
	for name in chfs futago; do \
		rm -f $(LIB)/lib$$name.so.0 $(LIB)/lib$$name.so $(LIB)/lib$$name.a $(LIB)/pkgconfig/$$name.pc $(INCLUDE)/$$name.h; \
	done
