# Shared by the tools: changes to the root of the package, installs requirements, and shows progress. Source it.
# shellcheck shell=bash

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
cd "$root" || exit 1

# Crash reports of child processes that are killed on purpose are noise, and may keep a pipe open.
export SWIFT_BACKTRACE="${SWIFT_BACKTRACE:-enable=no}"

# Makes builds by these tools fail on warnings. Packages that depend on this one are not affected. See Package.swift.
export TOMBOLO_WARNINGS="${TOMBOLO_WARNINGS:-errors}"

say() { printf '%s  %s\n' "$(date +%H:%M:%S)" "$*"; }
die() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; exit 1; }

# need_swift: fails if Swift is not installed. It is the only requirement that the tools do not install.
need_swift() {
  command -v swift >/dev/null 2>&1 || die "swift is not on the PATH; Swift 6.3 or newer is needed (https://swift.org/install)"
}

# need_packages NAME...: installs the Debian packages that are missing.
need_packages() {
  local missing=() name
  if ! command -v dpkg-query >/dev/null 2>&1; then
    say "this is not a Debian system; assuming that these packages are installed: $*"
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
  # env sets the variable, because sudo does not pass on variables of this shell.
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null ||
    die "apt-get install ${missing[*]} failed"
}

# need_build_requirements: checks for Swift, and installs the packages that builds and runs need.
need_build_requirements() {
  need_swift
  need_packages libsqlite3-dev libpq-dev ca-certificates
}

# need_python: installs Python for the progress and report of tests, the second client, and the benchmarks of other engines.
need_python() {
  command -v python3 >/dev/null 2>&1 || need_packages python3
}

# has_postgres: whether PostgreSQL is installed. Without it, its tests are skipped.
has_postgres() { compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null; }

# need_postgres: installs PostgreSQL for tests, which start their own servers in temporary folders.
need_postgres() {
  has_postgres && return 0
  # By default, Debian's package creates and starts a system-wide server. This setting prevents that.
  if [ "$(id -u)" -eq 0 ] && [ ! -e /etc/postgresql-common/createcluster.conf ]; then
    mkdir -p /etc/postgresql-common
    echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.conf
  fi
  need_packages postgresql
}

# need_haproxy: installs HAProxy, without the service that Debian's package would start.
need_haproxy() {
  command -v haproxy >/dev/null 2>&1 || [ -x /usr/sbin/haproxy ] && return 0
  if [ "$(id -u)" -eq 0 ] && [ -d /run/systemd/system ]; then systemctl mask --runtime --quiet haproxy; fi
  need_packages haproxy
}

# build_tests: makes the debug build of everything, including tests.
build_tests() { swift build --build-tests; }

# run_tests RING LOG ARGUMENTS...: runs the tests of the debug build, and shows progress, failures, and durations.
# All output goes to LOG. Fails if a test failed.
run_tests() {
  local width=()
  # Tests of this ring never wait. If only a few run at a time, the reported durations include no wait for a thread.
  if [ "$1" = unit ]; then width=(--experimental-maximum-parallelization-width "$(($(nproc) * 2))"); fi
  # These tests wait for programs, so they run in a second process. A selection by the user is small, and runs in one.
  local beside=()
  if [ "$1" != unit ] && [ "$#" -eq 2 ]; then beside=(--beside '^(BlackBoxTests|SyncctlTests)\.'); fi
  # Runs the built program directly, because `swift test` first examines the whole package for ten seconds.
  run_test_program "$1" "$2" "${beside[@]}" .build/debug/tomboloPackageTests.xctest --testing-library swift-testing \
    "${width[@]}" "${@:3}"
}

# run_other_tests RING LOG ARGUMENTS...: the same for another build, which the arguments of `swift test` select.
run_other_tests() {
  run_test_program "$1" "$2" swift test --skip-build --disable-xctest "${@:3}"
}

# run_test_program RING LOG [--beside REGEX] COMMAND...: see run-tests.py.
run_test_program() {
  TOMBOLO_TEST_RING="$1" python3 tools/lib/run-tests.py "${@:2}"
}
