#!/bin/sh
# Locks every environment again, with hashes: the driver's two and each framework's.
set -eu
cd "$(dirname "$0")/.."
compile() {
    .venv/bin/uv pip compile --quiet --generate-hashes --no-emit-index-url --no-emit-find-links \
        --custom-compile-command "make lock" "$@"
}
compile --universal --python-version 3.11 --group build pyproject.toml -o requirements.lock
compile --universal --python-version 3.11 --group dev pyproject.toml -c requirements.lock \
    -o requirements-dev.lock
for manifest in benchmarks/*/benchmark.toml benchmarks/upstream/*/*/benchmark.toml; do
    folder=$(dirname "$manifest")
    [ -f "$folder/requirements.in" ] || continue  # it shares the environment of one of our own
    python=$(sed -n 's/^python = "\(.*\)"$/\1/p' "$manifest")
    constraints=$folder/build-constraints.txt  # of what has no build, and is asked what it needs
    [ -f "$constraints" ] || constraints=/dev/null
    # of a package that names versions or packages which its script does without
    overrides=$folder/overrides.txt
    [ -f "$overrides" ] || overrides=/dev/null
    # requirements.in, and what single strategies need beside it
    for wanted in "$folder"/requirements.in $(find "$folder" -name '*.in' ! -name requirements.in); do
        beside=/dev/null
        [ "$wanted" = "$folder/requirements.in" ] || beside=$folder/requirements.lock
        compile --build-constraint "$constraints" --overrides "$overrides" --python-version "$python" \
            --python-platform linux "$wanted" -c "$beside" -o "${wanted%.in}.lock"
    done
done
