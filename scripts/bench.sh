#!/usr/bin/env bash
# Prints compile, load and run times of the model of the demo and of every model below MODELS, with one and two threads.
set -euo pipefail
cd "$(dirname "$0")/.."
models=(testdata/squeezenet1.1/model.onnx)
[ -n "${MODELS:-}" ] && mapfile -t -O 1 models < <(find "$MODELS" -name '*.onnx' | sort)
for model in "${models[@]}"; do
    for threads in 1 2; do
        bin/texel bench "$model" --threads "$threads"
    done
done
