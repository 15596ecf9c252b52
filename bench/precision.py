#!/usr/bin/env python3
"""Measure what half precision costs in exactness: errors layer by layer, and whether the answers of real models stay.

    zoo.py --out build/zoo
    real.py build/real
    precision.py build/zoo/*.onnx build/real/*/model.onnx --texel bin/texel

For each model and precision

    PATH check MODEL.onnx --precision P --json

compares each layer, which gets the device's own operands, with its float64 reference. Errors are in standard deviations of the
layer's result (σ); the layers with the largest are named, and those counted that are above --rms or --max. A model that real.py
wrote gets its input and is run in float32 too: its answer is read from both outputs as real.py reads it, and said to be the same
or not; where the output is classes, the rows of which the first class is the same are counted. Other models get inputs that check
draws. In a layer that quantizes, an error is a whole step now and then, in float32 as well (--precisions float32).

One row of Markdown a model and precision. The exit status is 1 when a layer is outside the bound that check allows or an answer
differs, 0 otherwise. Needs numpy.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

import real

PRECISIONS = ["float16", "bfloat16", "mixed"]


def texel(options, *args):
    """Return what the command prints. Exit code 5 of check is a layer outside its bound, which the report tells."""
    p = subprocess.run([options.texel, *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if p.returncode not in (0, 5):
        sys.exit(f"{' '.join(map(str, args))}: exit code {p.returncode}\n{p.stderr}")
    return p.stdout


def real_model(path):
    """Return the inputs of a model that real.py wrote, by name, the names of its outputs, and what reads its answer; or None."""
    meta = path.parent / "meta.json"
    if not meta.exists():
        return None
    meta = json.loads(meta.read_text())
    entry = next(m for m in real.MODELS if m["name"] == meta["name"])
    labels = path.parent / "labels.txt"
    labels = labels.read_text(encoding="utf-8").removesuffix("\n").split("\n") if labels.exists() else None
    feeds = {i["name"]: np.load(path.parent / i["file"]) for i in meta["inputs"]}
    return feeds, [o["name"] for o in meta["outputs"]], entry["meaning"](labels)


def run(options, path, feeds, names, precision):
    with tempfile.TemporaryDirectory() as folder:
        inputs, outputs = pathlib.Path(folder, "in.npz"), pathlib.Path(folder, "out.npz")
        np.savez(inputs, **feeds)
        texel(options, "run", path, "--precision", precision, "--input", inputs, "--output", outputs)
        with np.load(outputs) as got:
            return [got[n] for n in names]


def check(options, path, feeds, precision):
    with tempfile.TemporaryDirectory() as folder:
        given = []
        if feeds:
            inputs = pathlib.Path(folder, "in.npz")
            np.savez(inputs, **feeds)
            given = ["--input", inputs]
        return json.loads(texel(options, "check", path, "--precision", precision, "--json", *given))


def worst(layers, figure):
    """Return the largest error and its layer."""
    layer = max(layers, key=lambda l: l[figure])
    return f"{layer[figure]:.1e} {layer['name']}"


def agreement(whole, narrow, meaning):
    """Return whether both outputs mean the same, and the text of it; of outputs that are classes, in how many rows the first is the same."""
    (want, _), (got, detail) = meaning(whole), meaning(narrow)
    text = f"{got} ({detail})" if got == want else f"**{got}** ({detail}), not {want}"
    if whole[0].ndim < 4:
        a, b = (x[0].reshape(-1, x[0].shape[-1]).argmax(axis=1) for x in (whole, narrow))
        text += f"; {(a == b).sum()} of {len(a)} rows"
    return got == want, text


def row(options, path, precision, known, whole):
    """Return whether all is well, and the row."""
    feeds = known[0] if known else None
    report = check(options, path, feeds, precision)
    layers = report["layers"]
    outside = sum(l["wrong"] > 0 for l in layers) + sum(o["judged"] and o["wrong"] > 0 for o in report["outputs"])
    above = sum(l["rms"] > options.rms for l in layers), sum(l["max"] > options.max for l in layers)
    output = max(report["outputs"], key=lambda o: o["rms"])
    same, text = True, ""
    if known:
        same, text = agreement(whole, run(options, path, feeds, known[1], precision), known[2])
    name = path.parent.name if known else path.stem
    return same and not outside, (f"| {name} | {precision} | {len(layers)} | {worst(layers, 'rms')} | {worst(layers, 'max')} | {above[0]}, {above[1]} | "
                                  f"{outside} | {output['rms']:.1e}, {output['max']:.1e} | {text} |")


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("models", nargs="+", type=pathlib.Path)
    a.add_argument("--texel", default="bin/texel", help="the command")
    a.add_argument("--precisions", default=",".join(PRECISIONS))
    a.add_argument("--rms", type=float, default=2e-3, help="layers above it are counted, in σ")
    a.add_argument("--max", type=float, default=1e-2, help="layers above it are counted, in σ")
    options = a.parse_args()
    print("| model | precision | layers | largest rms, σ | largest error, σ | above | outside the bound | output: rms, max | answer |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    good = True
    for path in options.models:
        known = real_model(path)
        whole = run(options, path, known[0], known[1], "float32") if known else None
        for precision in options.precisions.split(","):
            fine, text = row(options, path, precision, known, whole)
            good = good and fine
            print(text, flush=True)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
