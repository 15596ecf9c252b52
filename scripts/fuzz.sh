#!/usr/bin/env bash
# Runs every fuzz target below the folders given (all without any) for the time given, one after the other:
#   scripts/fuzz.sh 15s ./relay/importer ./artifact
set -euo pipefail
cd "$(dirname "$0")/.."
each=${1:-20s}
shift || true
go=$(scripts/setup.sh go)
targets=$(git ls-files -co --exclude-standard -- "${@:-.}" | grep '_test\.go$' | xargs grep -EHo '^func Fuzz[A-Za-z0-9_]+')
while IFS=: read -r file target; do
    echo "fuzz: ${target#func } in $(dirname "$file")"
    "$go" test "./$(dirname "$file")" -run '^$' -fuzz "^${target#func }\$" -fuzztime "$each" -fuzzminimizetime 1x </dev/null
done <<<"$targets"
