#!/usr/bin/env python3
"""Writes the small models of testdata/onnx. Needs the Python packages onnx and numpy; the files are kept in the repository."""
import pathlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OUT = pathlib.Path(__file__).parent / "onnx"
F, I = TensorProto.FLOAT, TensorProto.INT64


def weights(name, *shape, seed=1, scale=0.25):
    return numpy_helper.from_array((np.random.RandomState(seed).randn(*shape) * scale).astype(np.float32), name)


def ints(name, *values):
    return numpy_helper.from_array(np.array(values, np.int64), name)


def save(name, nodes, inputs, outputs, initializers=(), opset=17, ir=8, out=OUT, **keys):
    value = lambda v: helper.make_tensor_value_info(*v)
    graph = helper.make_graph(nodes, name, [value(v) for v in inputs], [value(v) for v in outputs], list(initializers))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=ir, producer_name="testdata")
    onnx.checker.check_model(model)
    onnx.save_model(model, out / (name + ".onnx"), **keys)


def main():
    OUT.mkdir(exist_ok=True)
    n = helper.make_node
    save("relu", [n("Relu", ["x"], ["y"])], [("x", F, ["batch", 3])], [("y", F, ["batch", 3])])
    save("mlp", [n("Gemm", ["x", "w1", "b1"], ["h"], "fc1", transB=1), n("Relu", ["h"], ["r"], "relu"),
                 n("Gemm", ["r", "w2", "b2"], ["l"], "fc2", transB=1), n("Softmax", ["l"], ["y"], "softmax", axis=1)],
         [("x", F, [2, 20])], [("y", F, [2, 5])],
         [weights("w1", 33, 20), weights("b1", 33, seed=2), weights("w2", 5, 33, seed=3), weights("b2", 5, seed=4)])
    save("net", [n("Conv", ["x", "w1", "b1"], ["c1"], "conv1", pads=[1, 1, 1, 1], strides=[2, 2]), n("Relu", ["c1"], ["r1"], "relu1"),
                 n("Conv", ["r1", "w2"], ["d"], "depthwise", pads=[1, 1, 1, 1], group=16), n("Clip", ["d", "zero", "six"], ["d6"], "relu6"),
                 n("Conv", ["d6", "w3"], ["p"], "pointwise"), n("Add", ["p", "r1"], ["s"], "residual"),
                 n("GlobalAveragePool", ["s"], ["g"], "pool"), n("Flatten", ["g"], ["f"], "flatten"),
                 n("Gemm", ["f", "w4", "b4"], ["y"], "classes", transB=1)],
         [("x", F, [1, 3, 17, 15])], [("y", F, [1, 10]), ("s", F, [1, 16, 9, 8])],
         [weights("w1", 16, 3, 3, 3), weights("b1", 16, seed=2), weights("w2", 16, 1, 3, 3, seed=3), weights("w3", 16, 16, 1, 1, seed=4),
          weights("w4", 10, 16, seed=5), weights("b4", 10, seed=6), numpy_helper.from_array(np.float32(0), "zero"),
          numpy_helper.from_array(np.float32(6), "six")])
    save("nms", [n("NonMaxSuppression", ["boxes", "scores", "most", "overlap", "least"], ["picked"], "nms")],
         [("boxes", F, [1, 6, 4]), ("scores", F, [1, 2, 6])], [("picked", I, ["n", 3])],
         [ints("most", 3), numpy_helper.from_array(np.array([0.5], np.float32), "overlap"),
          numpy_helper.from_array(np.array([0.1], np.float32), "least")])
    save("maxima", [n("Max", ["x", "low"], ["a"], "first"), n("Max", ["a", "zero"], ["b"], "second"), n("Tanh", ["b"], ["t"], "tanh"),
                    n("Max", ["t", "low"], ["y"], "third")],
         [("x", F, [7])], [("y", F, [7])], [numpy_helper.from_array(np.float32(-5), "low"), numpy_helper.from_array(np.float32(0), "zero")])
    save("external", [n("MatMul", ["x", "w"], ["y"], "product")], [("x", F, [4, 64])], [("y", F, [4, 32])], [weights("w", 64, 32)],
         save_as_external_data=True, location="external.bin", size_threshold=0)
    save("default", [n("Add", ["x", "b"], ["y"], "add")], [("x", F, [3]), ("b", F, [3])], [("y", F, [3])],
         [numpy_helper.from_array(np.array([1, 2, 3], np.float32), "b")])
    save("reshape", [n("Reshape", ["x", "shape"], ["y"], "reshape")], [("x", F, [2, 6]), ("shape", I, [2])], [("y", F, ["a", "b"])])
    save("constant", [n("Identity", ["w"], ["y"], "identity"), n("Relu", ["x"], ["z"], "relu")], [("x", F, [2])], [("y", F, [3]), ("z", F, [2])],
         [weights("w", 3)])
    save("string", [n("StringNormalizer", ["x"], ["y"], "normalise", case_change_action="LOWER")],
         [("x", TensorProto.STRING, [1])], [("y", TensorProto.STRING, [1])])
    float8, int4 = TensorProto.FLOAT8E4M3FN, TensorProto.INT4
    heads = lambda name, *axes: [n("MatMul", ["x", "w" + name], [name], name), n("Reshape", [name, "heads"], [name + "h"], "heads_" + name),
                                 n("Transpose", [name + "h"], [name + "t"], "turned_" + name, perm=axes)]
    save("attention", heads("q", 0, 2, 1, 3) + heads("k", 0, 2, 3, 1) + heads("v", 0, 2, 1, 3)
         + [n("MatMul", ["qt", "kt"], ["s"], "products"), n("Div", ["s", "root"], ["d"], "scale"), n("Add", ["d", "mask"], ["m"], "mask"),
            n("Softmax", ["m"], ["a"], "softmax", axis=-1), n("MatMul", ["a", "vt"], ["o"], "mixed"), n("Transpose", ["o"], ["ot"], "back", perm=[0, 2, 1, 3]),
            n("Reshape", ["ot", "whole"], ["y"], "together")],
         [("x", F, [1, 37, 24]), ("mask", F, [1, 1, 1, 37])], [("y", F, [1, 37, 24])],
         [weights("wq", 24, 24), weights("wk", 24, 24, seed=2), weights("wv", 24, 24, seed=3), ints("heads", 1, 37, 3, 8), ints("whole", 1, 37, 24),
          numpy_helper.from_array(np.float32(8 ** 0.5), "root")])
    save("narrow", [n("Relu", ["x"], ["r"], "relu"), n("QuantizeLinear", ["r", "s8"], ["q"], "quantize", output_dtype=float8),
                    n("Transpose", ["q"], ["qt"], "transpose", perm=[1, 0]), n("DequantizeLinear", ["qt", "s8"], ["d"], "dequantize"),
                    n("MatMul", ["d", "w"], ["m"], "product"), n("QuantizeLinear", ["m", "s4"], ["y"], "pack", output_dtype=int4),
                    n("Gather", ["y", "picked"], ["g"], "gather", axis=1), n("DequantizeLinear", ["g", "s4"], ["z"], "unpack")],
         [("x", F, [33, 17])], [("q", float8, [33, 17]), ("y", int4, [17, 21]), ("z", F, [17, 3])],
         [weights("w", 33, 21), numpy_helper.from_array(np.float32(0.3), "s8"), numpy_helper.from_array(np.float32(0.5), "s4"),
          ints("picked", 5, 0, 20)], opset=25, ir=11)
    control()
    batch()


def control():
    """Models whose course is known only when they run."""
    n, v, B = helper.make_node, helper.make_tensor_value_info, TensorProto.BOOL
    number = lambda name, value, t=np.int64: numpy_helper.from_array(np.array(value, t), name)
    # the Collatz sequence: halves even numbers and takes 3 n + 1 of odd ones, until 1 comes
    halve = helper.make_graph([n("Div", ["k", "two"], ["half"])], "even", [], [v("half", I, [])])
    grow = helper.make_graph([n("Mul", ["k", "three"], ["triple"]), n("Add", ["triple", "one"], ["more"])], "odd", [], [v("more", I, [])])
    body = helper.make_graph([n("Mod", ["k", "two"], ["rest"]), n("Equal", ["rest", "zero"], ["even"]),
                              n("If", ["even"], ["next"], "parity", then_branch=halve, else_branch=grow),
                              n("Equal", ["next", "one"], ["done"]), n("Not", ["done"], ["goes"])], "body",
                             [v("i", I, []), v("go", B, []), v("k", I, [])], [v("goes", B, []), v("next", I, []), v("next", I, [])])
    save("collatz", [n("Equal", ["n", "one"], ["is_one"]), n("Not", ["is_one"], ["begins"]),
                     n("Loop", ["", "begins", "n"], ["last", "sequence"], "steps", body=body)],
         [("n", I, [])], [("last", I, []), ("sequence", I, ["steps"])], [number("zero", 0), number("one", 1), number("two", 2), number("three", 3)])
    # adds a step to x while that is below 1, which may be always
    body = helper.make_graph([n("Add", ["s", "step"], ["t"]), n("Less", ["t", "bound"], ["goes"])], "body",
                             [v("i", I, []), v("go", B, []), v("s", F, [])], [v("goes", B, []), v("t", F, [])])
    save("walk", [n("Less", ["x", "bound"], ["begins"]), n("Loop", ["", "begins", "x"], ["y"], "walk", body=body)],
         [("x", F, []), ("step", F, [])], [("y", F, [])], [number("bound", 1, np.float32)])
    save("lstm", [n("LSTM", ["x", "w", "r", "b", "lens"], ["y", "h", "c"], "lstm", hidden_size=5, direction="bidirectional")],
         [("x", F, [50, 2, 3]), ("lens", TensorProto.INT32, [2])], [("y", F, [50, 2, 2, 5]), ("h", F, [2, 2, 5]), ("c", F, [2, 2, 5])],
         [weights("w", 2, 20, 3), weights("r", 2, 20, 5, seed=2), weights("b", 2, 40, seed=3)])


def batch():
    """Models with an open batch N: those that keep its rows apart, and in mixes/ those that do not."""
    n, out = helper.make_node, OUT.parent / "batch"
    (out / "mixes").mkdir(parents=True, exist_ok=True)
    apart = lambda *args, **keys: save(*args, out=out, **keys)
    mixes = lambda *args, **keys: save(*args, out=out / "mixes", **keys)
    scalar = lambda name, value, t=np.float32: numpy_helper.from_array(np.array(value, t), name)
    size = [n("Shape", ["x"], ["shape"], "shape"), n("Gather", ["shape", "zero"], ["N"], "count")]  # N as (1,)

    apart("classifier", [n("Conv", ["x", "w1", "b1"], ["c"], "conv", pads=[1, 1, 1, 1]),
                         n("BatchNormalization", ["c", "scale", "b1", "b1", "scale"], ["b"], "norm"), n("Relu", ["b"], ["r"], "relu"),
                         n("MaxPool", ["r"], ["p"], "pool", kernel_shape=[2, 2], strides=[2, 2]), n("GlobalAveragePool", ["p"], ["g"], "mean"),
                         n("Flatten", ["g"], ["f"], "flatten"), n("Gemm", ["f", "w2", "b2"], ["l"], "classes", transB=1),
                         n("Softmax", ["l"], ["y"], "softmax", axis=1)],
          [("x", F, ["N", 3, 9, 8])], [("y", F, ["N", 5]), ("r", F, ["N", 16, 9, 8])],
          [weights("w1", 16, 3, 3, 3), weights("b1", 16, seed=2), numpy_helper.from_array(np.linspace(0.5, 1.5, 16).astype(np.float32), "scale"),
           weights("w2", 5, 16, seed=3), weights("b2", 5, seed=4)])
    apart("chain", size + [n("Concat", ["N", "minus", "four"], ["to"], "target", axis=0), n("Reshape", ["x", "to"], ["r"], "split"),
                           n("ReduceSum", ["r", "one"], ["s"], "sum", keepdims=0), n("Reshape", ["s", "flat"], ["f"], "rows"), n("Tanh", ["f"], ["y"], "tanh")],
          [("x", F, ["N", 12])], [("y", F, ["N", 4])], [ints("zero", 0), ints("minus", -1), ints("four", 4), ints("one", 1), ints("flat", -1, 4)])
    heads = lambda name: [n("MatMul", ["z", "w" + name], [name], name), n("Reshape", [name, "heads"], [name + "h"], "heads_" + name),
                          n("Transpose", [name + "h"], [name + "t"], "turned_" + name, perm=[0, 2, 1, 3])]
    apart("vit", size + [n("Conv", ["x", "patch", "pb"], ["c"], "patches", strides=[4, 4]), n("Concat", ["N", "eight", "minus"], ["rows"], "target", axis=0),
                         n("Reshape", ["c", "rows"], ["cr"], "flat"), n("Transpose", ["cr"], ["ct"], "places", perm=[0, 2, 1]),
                         n("Concat", ["N", "minus", "minus"], ["tokens"], "token_shape", axis=0), n("ConstantOfShape", ["three"], ["ones"], "ones", value=numpy_helper.from_array(np.array([1], np.int64))),
                         n("Mul", ["ones", "minus"], ["all"], "all"), n("Equal", ["tokens", "all"], ["open"], "open"), n("Where", ["open", "ones", "tokens"], ["to"], "extents"),
                         n("Expand", ["token", "to"], ["class"], "class"), n("Concat", ["class", "ct"], ["t"], "join", axis=1), n("Add", ["t", "position"], ["z"], "position")]
          + heads("q") + heads("k") + heads("v")
          + [n("Transpose", ["kt"], ["kk"], "keys", perm=[0, 1, 3, 2]), n("MatMul", ["qt", "kk"], ["s"], "scores"), n("Softmax", ["s"], ["a"], "attention", axis=-1),
             n("MatMul", ["a", "vt"], ["o"], "mixed"), n("Transpose", ["o"], ["ot"], "back", perm=[0, 2, 1, 3]), n("Reshape", ["ot", "whole"], ["oo"], "together"),
             n("Add", ["oo", "z"], ["res"], "residual"), n("LayerNormalization", ["res", "g", "b"], ["ln"], "norm"), n("Gather", ["ln", "first"], ["cls"], "first", axis=1),
             n("Gemm", ["cls", "wc", "bc"], ["y"], "classes", transB=1)],
          [("x", F, ["N", 3, 8, 12])], [("y", F, ["N", 5])],
          [ints("zero", 0), ints("eight", 8), ints("minus", -1), ints("three", 3), weights("patch", 8, 3, 4, 4), weights("pb", 8, seed=2), weights("token", 1, 1, 8, seed=3),
           weights("position", 1, 7, 8, seed=4), weights("wq", 8, 8, seed=5), weights("wk", 8, 8, seed=6), weights("wv", 8, 8, seed=7), ints("heads", 0, 7, 2, 4), ints("whole", 0, 7, 8),
           weights("g", 8, seed=8), weights("b", 8, seed=9), scalar("first", 0, np.int64), weights("wc", 5, 8, seed=10), weights("bc", 5, seed=11)])
    recurrent = [weights("w", 1, 20, 3), weights("r", 1, 20, 5, seed=2), weights("b", 1, 40, seed=3)]
    for name, steps in ("recurrent", 3), ("loop", 60):
        apart(name, size + [n("Concat", ["one", "N", "five"], ["to"], "target", axis=0), n("ConstantOfShape", ["to"], ["h"], "state"),
                            n("Transpose", ["x"], ["s"], "steps", perm=[1, 0, 2]), n("LSTM", ["s", "w", "r", "b", "", "h", "h"], ["y", "last"], "lstm", hidden_size=5)],
              [("x", F, ["N", steps, 3])], [("y", F, [steps, 1, "N", 5]), ("last", F, [1, "N", 5])], [ints("zero", 0), ints("one", 1), ints("five", 5)] + recurrent)
    apart("words", [n("Gather", ["table", "ids"], ["e"], "embed"), n("Unsqueeze", ["mask", "two"], ["m"], "widen"), n("Mul", ["e", "m"], ["k"], "keep"),
                    n("Reshape", ["k", "flat"], ["f"], "tokens"), n("MatMul", ["f", "w"], ["p"], "product"), n("Reshape", ["p", "back"], ["q"], "sequences"),
                    n("ReduceMax", ["q"], ["y"], "largest", axes=[1], keepdims=0), n("Neg", ["w"], ["same"], "same")],
          [("ids", I, ["N", 6]), ("mask", F, ["N", 6])], [("y", F, ["N", 4]), ("same", F, [3, 4])],
          [weights("table", 9, 3), ints("two", 2), ints("flat", -1, 3), ints("back", -1, 6, 4), weights("w", 3, 4, seed=2)])
    apart("unnamed", [n("Mul", ["x", "x"], ["y"], "square")], [("x", F, [None, 4])], [("y", F, [None, 4])])

    one = lambda name, node, shape=("N", 4), initializers=(), **keys: mixes(name, node, [("x", F, list(shape))], [("y", F, ["a", "b"])], initializers, **keys)
    one("softmax", [n("Softmax", ["x"], ["y"], "over_rows", axis=0)])
    one("mean", [n("ReduceMean", ["x"], ["m"], "mean_of_all"), n("Sub", ["x", "m"], ["y"], "centre")])
    one("gram", [n("Transpose", ["x"], ["t"], "turn", perm=[1, 0]), n("MatMul", ["x", "t"], ["y"], "products")])
    one("slice", [n("Slice", ["x", "begin", "end", "axes"], ["y"], "head")], initializers=[ints("begin", 0), ints("end", 1), ints("axes", 0)])
    one("reverse", [n("Slice", ["x", "end", "begin", "axes", "step"], ["y"], "backwards")],
        initializers=[ints("begin", -99), ints("end", -1), ints("axes", 0), ints("step", -1)])
    one("running", [n("CumSum", ["x", "axis"], ["y"], "running")], initializers=[scalar("axis", 0, np.int64)])
    one("flatten", [n("Flatten", ["x"], ["f"], "everything", axis=0), n("Softmax", ["f"], ["y"], "softmax", axis=1)])
    one("count", size + [n("Cast", ["N"], ["c"], "number", to=F), n("Div", ["x", "c"], ["y"], "share")], initializers=[ints("zero", 0)])
    one("place", [n("Shape", ["x"], ["shape"], "shape"), n("Gather", ["shape", "zero"], ["N"], "count"), n("Range", ["zero", "N", "one"], ["places"], "places"),
                  n("Cast", ["places"], ["p"], "number", to=F), n("Unsqueeze", ["p", "axis"], ["column"], "column"), n("Add", ["x", "column"], ["y"], "shift")],
        initializers=[scalar("zero", 0, np.int64), scalar("one", 1, np.int64), ints("axis", 1)])
    one("fixed", [n("Reshape", ["x", "to"], ["y"], "one_row")], initializers=[ints("to", 1, 4)])
    one("capped", size + [n("Min", ["N", "most"], ["few"], "few"), n("Sub", ["N", "few"], ["begin"], "begin"), n("Slice", ["x", "begin", "N", "zero"], ["y"], "last_few")],
        initializers=[ints("zero", 0), ints("most", 4)], opset=17)
    mixes("nms", [n("NonMaxSuppression", ["boxes", "scores", "most", "overlap", "least"], ["picked"], "nms")],
          [("boxes", F, ["N", 6, 4]), ("scores", F, ["N", 2, 6])], [("picked", I, ["n", 3])],
          [ints("most", 3), numpy_helper.from_array(np.array([0.5], np.float32), "overlap"), numpy_helper.from_array(np.array([0.1], np.float32), "least")])


if __name__ == "__main__":
    main()
