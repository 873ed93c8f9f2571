# Shared by the tools: where the package is, what it needs, and how progress is shown. Sourced, not run.
# shellcheck shell=bash

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
cd "$root" || exit 1

# Crash reports of a child that is killed on purpose are noise, and may hold a pipe open.
export SWIFT_BACKTRACE="${SWIFT_BACKTRACE:-enable=no}"

# Our own builds have no warnings. A package that depends on this one decides for itself: see Package.swift.
export TOMBOLO_WARNINGS="${TOMBOLO_WARNINGS:-errors}"

say() { printf '%s  %s\n' "$(date +%H:%M:%S)" "$*"; }
die() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; exit 1; }

# need_swift: the one thing that has to be there.
need_swift() {
  command -v swift >/dev/null 2>&1 || die "swift is not on the PATH; Swift 6.3 or newer is needed (https://swift.org/install)"
}

# need_packages NAME...: installs the Debian packages that are missing.
need_packages() {
  local missing=() name
  if ! command -v dpkg-query >/dev/null 2>&1; then
    say "this is no Debian: taking it that these are there: $*"
    return 0
  fi
  for name in "$@"; do
    dpkg-query -W -f='${Status}' "$name" 2>/dev/null | grep -q 'ok installed' || missing+=("$name")
  done
  [ "${#missing[@]}" -eq 0 ] && return 0
  command -v apt-get >/dev/null 2>&1 || die "these packages are missing: ${missing[*]}"
  local sudo=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null 2>&1 || die "these packages are missing, and only root can install them: ${missing[*]}"
    sudo=(sudo)
  fi
  say "installing ${missing[*]}"
  "${sudo[@]}" apt-get update -qq >/dev/null || die "apt-get update failed"
  # By env, as sudo would not pass the variable on.
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null ||
    die "apt-get install ${missing[*]} failed"
}

# What building needs beside Swift, and what running needs.
need_ground() {
  need_swift
  need_packages libsqlite3-dev ca-certificates
}

# need_python: runs the tests' progress and report, and the second client.
need_python() {
  command -v python3 >/dev/null 2>&1 || need_packages python3
}

# build_tests: the debug build of everything, tests included.
build_tests() { swift build --build-tests; }

# run_tests RING LOG ARGUMENTS...: runs the tests of the debug build with progress, failures, and where the time went.
# Everything that they say is in LOG. Fails when a test failed.
run_tests() {
  local width=()
  # Nothing waits in this ring. A few tests at a time, and the report says how long each took, not how long it waited.
  if [ "$1" = unit ]; then width=(--experimental-maximum-parallelization-width "$(($(nproc) * 2))"); fi
  # The built program itself: `swift test` looks at the whole package for ten seconds first.
  run_test_program "$1" "$2" .build/debug/tomboloPackageTests.xctest --testing-library swift-testing "${width[@]}" "${@:3}"
}

# run_other_tests RING LOG ARGUMENTS...: the same for a build of another kind, which the arguments of `swift test` name.
run_other_tests() {
  run_test_program "$1" "$2" swift test --skip-build --disable-xctest "${@:3}"
}

run_test_program() {
  TOMBOLO_TEST_RING="$1" python3 tools/lib/run-tests.py "${@:2}"
}
