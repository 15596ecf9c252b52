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


def save(name, nodes, inputs, outputs, initializers=(), opset=17, ir=8, **keys):
    value = lambda v: helper.make_tensor_value_info(*v)
    graph = helper.make_graph(nodes, name, [value(v) for v in inputs], [value(v) for v in outputs], list(initializers))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=ir, producer_name="testdata")
    onnx.checker.check_model(model)
    onnx.save_model(model, OUT / (name + ".onnx"), **keys)


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
    save("narrow", [n("Relu", ["x"], ["r"], "relu"), n("QuantizeLinear", ["r", "s8"], ["q"], "quantize", output_dtype=float8),
                    n("Transpose", ["q"], ["qt"], "transpose", perm=[1, 0]), n("DequantizeLinear", ["qt", "s8"], ["d"], "dequantize"),
                    n("MatMul", ["d", "w"], ["m"], "product"), n("QuantizeLinear", ["m", "s4"], ["y"], "pack", output_dtype=int4),
                    n("Gather", ["y", "picked"], ["g"], "gather", axis=1), n("DequantizeLinear", ["g", "s4"], ["z"], "unpack")],
         [("x", F, [33, 17])], [("q", float8, [33, 17]), ("y", int4, [17, 21]), ("z", F, [17, 3])],
         [weights("w", 33, 21), numpy_helper.from_array(np.float32(0.3), "s8"), numpy_helper.from_array(np.float32(0.5), "s4"),
          ints("picked", 5, 0, 20)], opset=25, ir=11)
    control()


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


if __name__ == "__main__":
    main()
