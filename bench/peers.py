#!/usr/bin/env python3
"""Measure inference engines side by side on this machine's CPU: fp32, the model's own batch, 1 and 2 threads.

    zoo.py --out models
    peers.py models/*.onnx --work work --threads 1,2 --markdown report.md
    peers.py models/*.onnx --work work --texel bin/texel

How noise is treated. Each engine runs in a process of its own; for every model and thread count all engines are
loaded, then take turns: in each of --rounds rounds every engine runs for --slice milliseconds (after one untimed
run), in an order that rotates. Engines that wait are stopped by SIGSTOP, so spinning thread pools cost the others
nothing. A run during which one of the engine's threads had to queue for a CPU that another program held, for more
than 3 % of the time (the kernel counts this per thread), is set aside; rounds are added, up to three times as many,
until every engine has --rounds undisturbed runs. What is reported is the median and the minimum of the undisturbed
runs, and the lowest and highest median of a round; a "~" marks medians of fewer than 3 undisturbed runs, for which
the fastest quarter of all runs stands in. On a busy machine raise the priority; where the kernel shares CPUs among
sessions (autogroup), nice alone does little:

    setsid -w sh -c 'echo -20 >/proc/self/autogroup; exec nice -n -20 peers.py models/*.onnx'

What is reported besides: time to convert or compile the model (done once, kept in --work); cold start: from
creating the session, with the converted model in the page cache, to the end of the first inference; peak
resident memory of that, over the process after its imports; and the error: the largest difference from onnxruntime's
output without graph optimisation, in standard deviations of that output; for integer outputs the share of rows that
only one side has. Above 0.05 the answer counts as wrong.

Engines (missing ones are named in the report and left out):

    onnxruntime  pip: onnxruntime. All graph optimisations.
    openvino     pip: openvino. LATENCY hint, fp32 precision hint (else bf16 is used where the CPU has it).
    ncnn         pip: ncnn pnnx torch onnx. Converted by pnnx; its fp16 weights off.
    mnn          pip: MNN. Converted by mnnconvert; precision high.
    litert       pip: ai-edge-litert. XNNPACK. Converted by onnx2tf, which wants an environment of its own
                 (pip: onnx2tf tensorflow-cpu): give its program with --onnx2tf. Input is NHWC, transposed untimed.
    iree         pip: iree-base-compiler[onnx] iree-base-runtime. llvm-cpu, O3, host CPU; local-sync at 1 thread.
    tvm          pip: apache-tvm. Relax, pipeline "zero", default schedules for llvm, not tuned.
    texel        --texel PATH: the command

                     PATH bench MODEL.onnx --threads N --json

                 is run once a round. It must do its own warm-up and measure for about a second, and print one JSON
                 object: {"median_ms": 1.23, "min_ms": 1.20}; compile_ms, cold_ms, peak_mb are shown if present.
                 Compile results should be cached by the command or its compile time told apart. Once per model

                     PATH run MODEL.onnx --threads N --input IN.npz --output OUT.npz

                 is run for the error: arrays are named as the model's inputs and outputs.
"""

import argparse
import contextlib
import importlib.util
import json
import math
import os
import pathlib
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import zlib

import numpy as np

WRONG = 0.05  # standard deviations

# -- engines -----------------------------------------------------------------------------------------------
# convert(model, folder, options) writes the engine's own form of the model into folder and returns its path.
# load(path, inputs, threads) returns a function that runs one inference and returns the list of outputs.


class OnnxRuntime:
    name, needs = "onnxruntime", ["onnxruntime"]

    @staticmethod
    def convert(model, folder, options):
        return model

    @staticmethod
    def load(path, inputs, threads):
        import onnxruntime

        config = onnxruntime.SessionOptions()
        config.intra_op_num_threads, config.inter_op_num_threads = threads, 1
        config.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        session = onnxruntime.InferenceSession(str(path), config, providers=["CPUExecutionProvider"])
        return lambda: session.run(None, inputs)


class OpenVino:
    name, needs = "openvino", ["openvino"]

    @staticmethod
    def convert(model, folder, options):
        import openvino

        openvino.save_model(openvino.convert_model(model), folder / "model.xml", compress_to_fp16=False)
        return folder / "model.xml"

    @staticmethod
    def load(path, inputs, threads):
        import openvino

        compiled = openvino.Core().compile_model(str(path), "CPU", {
            "PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": "f32"})
        request = compiled.create_infer_request()
        for name, array in inputs.items():
            request.set_tensor(name, openvino.Tensor(array, shared_memory=True))

        def run():
            request.infer()
            return [request.get_output_tensor(i).data for i in range(len(compiled.outputs))]

        return run


class Ncnn:
    name, needs = "ncnn", ["ncnn", "pnnx"]

    @staticmethod
    def convert(model, folder, options):
        shapes = ",".join("[" + ",".join(map(str, a.shape)) + "]" for a in model_inputs(model).values())
        copy = shutil.copy(model, folder / "model.onnx")  # pnnx writes beside its input
        log = command([program("pnnx"), copy, f"inputshape={shapes}", "fp16=0"], folder)
        text = (folder / "model.ncnn.param").read_text()
        if "pnnx.Expression" in text or "NonMaxSuppression" in text:
            raise RuntimeError("pnnx left operators that ncnn lacks: " + "; ".join(
                sorted({line.split()[0] for line in text.splitlines()[2:]} & {"pnnx.Expression", "NonMaxSuppression"})))
        if "not supported" in log:
            raise RuntimeError(next(line for line in log.splitlines() if "not supported" in line))
        return folder / "model.ncnn.param"

    @staticmethod
    def load(path, inputs, threads):
        import ncnn

        ncnn.set_omp_num_threads(threads)
        net = ncnn.Net()
        net.opt.num_threads = threads
        net.opt.use_vulkan_compute = False
        net.opt.use_fp16_packed = net.opt.use_fp16_storage = net.opt.use_fp16_arithmetic = False
        net.opt.use_bf16_storage = False
        if net.load_param(str(path)) or net.load_model(str(path.with_suffix(".bin"))):
            raise RuntimeError("ncnn cannot load the converted model")
        feeds = [ncnn.Mat(np.ascontiguousarray(array[0])) for array in inputs.values()]  # ncnn has no batch axis
        count = len(net.output_names())

        def run():
            extractor = net.create_extractor()
            for i, mat in enumerate(feeds):
                extractor.input(f"in{i}", mat)
            found = []
            for i in range(count):
                status, mat = extractor.extract(f"out{i}")
                if status:
                    raise RuntimeError(f"ncnn extract failed with {status}")
                found.append(np.array(mat))
            return found

        return run


class Mnn:
    name, needs = "mnn", ["MNN"]

    @staticmethod
    def convert(model, folder, options):
        log = command([program("mnnconvert"), "-f", "ONNX", "--modelFile", model, "--MNNModel", "model.mnn",
                       "--bizCode", "bench"], folder)
        if not (folder / "model.mnn").exists():
            raise RuntimeError("mnnconvert: " + log.strip()[-300:])
        return folder / "model.mnn"

    @staticmethod
    def load(path, inputs, threads):
        import MNN

        net = MNN.Interpreter(str(path))
        session = net.createSession({"backend": "CPU", "numThread": threads, "precision": "high"})
        feeds = [(net.getSessionInput(session, name),
                  MNN.Tensor(array.shape, MNN.Halide_Type_Float, array, MNN.Tensor_DimensionType_Caffe))
                 for name, array in inputs.items()]

        def run():
            for tensor, array in feeds:  # MNN reuses the input's memory, so it has to be filled each time
                tensor.copyFrom(array)
            net.runSession(session)
            return [mnn_array(MNN, tensor) for tensor in net.getSessionOutputAll(session).values()]

        run.names = list(net.getSessionOutputAll(session))
        return run


def mnn_array(MNN, tensor):
    integer = tensor.getDataType() != MNN.Halide_Type_Float
    host = MNN.Tensor(tensor.getShape(), tensor.getDataType(),
                      np.zeros(tensor.getShape(), np.int32 if integer else np.float32), MNN.Tensor_DimensionType_Caffe)
    tensor.copyToHostTensor(host)
    return np.array(host.getNumpyData())  # a copy: the view does not keep its tensor alive


class LiteRt:
    name, needs = "litert", ["ai_edge_litert"]

    @staticmethod
    def convert(model, folder, options):
        if not options.get("onnx2tf"):
            raise RuntimeError("no converter: give --onnx2tf")
        rng = np.random.default_rng(0)  # onnx2tf wants a calibration file, which it would download
        np.save(folder / "calibration_image_sample_data_20x128x128x3_float32.npy", rng.random((20, 128, 128, 3), np.float32))
        copy = shutil.copy(model, folder)  # onnx2tf rewrites its input
        command([options["onnx2tf"], "-i", copy, "-o", "out", "-n", "-nuo"], folder)
        path, = (folder / "out").glob("*_float32.tflite")
        return path

    @staticmethod
    def load(path, inputs, threads):
        from ai_edge_litert.interpreter import Interpreter

        net = Interpreter(str(path), num_threads=threads)
        net.allocate_tensors()
        feeds = []
        for slot, array in zip(net.get_input_details(), inputs.values()):
            if tuple(slot["shape"]) != array.shape:
                array = np.ascontiguousarray(np.moveaxis(array, 1, -1))
            feeds.append((slot["index"], array))
        slots = [slot["index"] for slot in net.get_output_details()]

        def run():
            for index, array in feeds:
                net.set_tensor(index, array)
            net.invoke()
            return [net.get_tensor(index) for index in slots]

        return run


class Iree:
    name, needs = "iree", ["iree.compiler", "iree.runtime"]

    @staticmethod
    def convert(model, folder, options):
        command([program("iree-import-onnx"), model, "--opset-version", "17", "-o", "model.mlir"], folder)
        command([program("iree-compile"), "model.mlir", "--iree-hal-target-backends=llvm-cpu",
                 "--iree-llvmcpu-target-cpu=host", "--iree-opt-level=O3", "-o", "model.vmfb"], folder)
        (folder / "model.mlir").unlink()
        return folder / "model.vmfb"

    @staticmethod
    def load(path, inputs, threads):
        import iree.runtime as iree

        if threads > 1:
            iree.flags.parse_flags(f"--task_topology_group_count={threads}")
        config = iree.Config("local-sync" if threads == 1 else "local-task")
        context = iree.SystemContext(config=config)
        module = iree.VmModule.mmap(context.instance, str(path))
        context.add_vm_module(module)
        exported = [name for name in module.function_names if not name.startswith("_") and not name.endswith("$async")]
        function = context.modules[module.name][exported[0]]
        feeds = [iree.asdevicearray(config.device, array) for array in inputs.values()]

        def run():
            found = function(*feeds)
            return [array.to_host() for array in (found if isinstance(found, (tuple, list)) else [found])]

        return run


class Tvm:
    name, needs = "tvm", ["tvm"]

    @staticmethod
    def convert(model, folder, options):
        import onnx
        import tvm
        from tvm import relax
        from tvm.relax.frontend.onnx import from_onnx

        module = relax.get_pipeline("zero")(from_onnx(onnx.load(model)))
        host = tvm.target.codegen.llvm_get_system_cpu()
        target = tvm.target.Target({"kind": "llvm", "mcpu": host, "num-cores": os.cpu_count()})
        tvm.compile(module, target).export_library(str(folder / "model.so"))
        return folder / "model.so"

    @staticmethod
    def load(path, inputs, threads):
        os.environ["TVM_NUM_THREADS"] = str(threads)
        import tvm
        from tvm import relax

        machine = relax.VirtualMachine(tvm.runtime.load_module(str(path)), tvm.cpu())
        feeds = [tvm.runtime.tensor(array) for array in inputs.values()]

        def run():
            found = machine["main"](*feeds)
            return [array.numpy() for array in ([found] if hasattr(found, "numpy") else found)]

        return run


ENGINES = {e.name: e for e in (OnnxRuntime, OpenVino, Ncnn, Mnn, LiteRt, Iree, Tvm)}


def program(name):
    """A console program of this environment."""
    beside = pathlib.Path(sys.executable).parent / name
    return beside if beside.exists() else name


def command(words, folder):
    done = subprocess.run([str(w) for w in words], cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        raise RuntimeError(f"{pathlib.Path(words[0]).name}: exit {done.returncode}: {last_error(done.stdout)}")
    return done.stdout


def last_error(log):
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower()]
    return (errors or lines or ["no output"])[-1][:300]


def model_inputs(model):
    """Seeded normal input for a model."""
    import onnx

    graph = onnx.load(model, load_external_data=False).graph
    constant = {w.name for w in graph.initializer}
    rng = np.random.default_rng(zlib.crc32(pathlib.Path(model).stem.encode()))
    shapes = {v.name: [d.dim_value for d in v.type.tensor_type.shape.dim] for v in graph.input if v.name not in constant}
    return {name: rng.standard_normal(shape, np.float32) for name, shape in shapes.items()}


# -- worker: one engine, one model, in a process of its own --------------------------------------------------


def memory(key):
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key):
            return int(line.split()[1]) / 1024
    return 0.0


def cpu_seconds():
    return sum(use.ru_utime + use.ru_stime for use in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


def queued():
    """Milliseconds this process's threads have so far waited for a CPU."""
    total = 0
    for task in os.listdir("/proc/self/task"):
        with contextlib.suppress(OSError), open(f"/proc/self/task/{task}/schedstat") as file:
            total += int(file.read().split()[1])
    return total / 1e6


def timed(run, threads):
    """Milliseconds of one run, and whether it went undisturbed."""
    waited = queued()
    start = time.perf_counter()
    run()
    ms = 1e3 * (time.perf_counter() - start)
    return ms, queued() - waited <= 0.03 * ms * threads


def worker(order):
    """Reads one JSON order a line, answers one JSON line each; libraries' chatter goes to stderr."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    engine, model = ENGINES[order["engine"]], pathlib.Path(order["model"])

    def answer(**fields):
        print(json.dumps(fields), file=answers, flush=True)

    try:
        if order["task"] == "convert":
            start, busy = time.perf_counter(), cpu_seconds()
            path = engine.convert(model, pathlib.Path(order["folder"]), order)
            answer(path=str(path), seconds=time.perf_counter() - start, cpu_seconds=cpu_seconds() - busy)
            return
        os.environ["TVM_NUM_THREADS"] = str(order["threads"])
        for module in engine.needs:
            if module not in ("pnnx", "iree.compiler"):
                importlib.import_module(module)
        inputs = dict(np.load(order["inputs"]))
        pathlib.Path("/proc/self/clear_refs").write_text("5")  # resets the peak
        before = memory("VmRSS")
        start = time.perf_counter()
        run = engine.load(pathlib.Path(order["path"]), inputs, order["threads"])
        loaded = time.perf_counter()
        found = run()
        cold = time.perf_counter()
        np.savez(order["outputs"], *[np.asarray(a) for a in found])
        answer(load_ms=1e3 * (loaded - start), cold_ms=1e3 * (cold - start), peak_mb=memory("VmHWM") - before,
               names=getattr(run, "names", None))
        for line in sys.stdin:
            iterations, warm_up = json.loads(line)
            if warm_up:
                run()
            answer(times=[timed(run, order["threads"]) for _ in range(iterations)])
    except Exception as error:
        answer(error=f"{type(error).__name__}: {error}"[:400])


class Worker:
    def __init__(self, log, **order):
        self.log = open(log, "ab")
        self.process = subprocess.Popen([sys.executable, __file__, "--worker", json.dumps(order)], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log)

    def read(self, limit):
        """The next answer; a crash or `limit` seconds of silence raises."""
        timer = signal.setitimer(signal.ITIMER_REAL, limit)
        try:
            line = self.process.stdout.readline()
        except TimeoutError:
            raise RuntimeError(f"no answer in {limit} s") from None
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        if not line:
            raise RuntimeError(f"the process died with status {self.process.wait()}")
        fields = json.loads(line)
        if "error" in fields:
            raise RuntimeError(fields["error"])
        return fields

    def measure(self, iterations, warm_up, limit=300):
        self.process.send_signal(signal.SIGCONT)
        self.process.stdin.write(json.dumps([iterations, warm_up]) + "\n")
        self.process.stdin.flush()
        times = self.read(limit)["times"]
        self.pause()
        return times

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)

    def close(self):
        self.process.kill()
        self.process.wait()
        self.log.close()


# -- the comparison ------------------------------------------------------------------------------------------


def convert(engine, model, work, options):
    """The converted model, from an earlier run if it is there: {path, seconds} or {error}."""
    folder = work / model.stem / engine
    record = folder / "convert.json"
    if record.exists():
        return json.loads(record.read_text())
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    job = Worker(folder / "log", task="convert", engine=engine, model=str(model), folder=str(folder), **options)
    try:
        result = job.read(options["convert_limit"])
    except RuntimeError as error:
        result = {"error": str(error)}
    job.close()
    record.write_text(json.dumps(result))
    return result


def error_in_sigma(found, wanted):
    """Largest difference over all outputs, in standard deviations; for indices the share of unmatched rows."""
    worst = 0.0
    for ours, theirs in zip(found, wanted, strict=True):
        if theirs.dtype.kind == "i":
            a, b = ({tuple(row) for row in np.asarray(m, np.int64).reshape(-1, theirs.shape[-1])} for m in (ours, theirs))
            worst = max(worst, len(a ^ b) / max(len(b), 1))
            continue
        if ours.size != theirs.size:
            return float("inf")
        if ours.squeeze().shape != theirs.squeeze().shape:
            ours = np.moveaxis(ours, -1, 1)
        difference = np.abs(ours.reshape(theirs.shape).astype(np.float64) - theirs).max()
        worst = max(worst, float(difference / theirs.std()) if np.isfinite(difference) else float("inf"))
    return worst


def arrays(path):
    with np.load(path) as file:
        return [file[name] for name in file.files]


class Texel:
    """The product behind its command line, seen as one more engine."""

    def __init__(self, path, model, threads, inputs, outputs, names):
        self.words = [path, "bench", str(model), "--threads", str(threads), "--json"]
        self.figures = {"min_ms": float("inf")}
        command([path, "run", model, "--threads", threads, "--input", inputs, "--output", outputs], None)
        with np.load(outputs) as file:
            self.outputs = [file[name] for name in names]

    def measure(self):
        """The median of one more run of the bench command."""
        done = subprocess.run(self.words, text=True, capture_output=True)
        if done.returncode:
            raise RuntimeError(last_error(done.stderr))
        latest = json.loads(done.stdout)
        self.figures.update({k: latest[k] for k in ("compile_ms", "cold_ms", "peak_mb") if k in latest})
        self.figures["min_ms"] = min(self.figures["min_ms"], latest["min_ms"])
        return latest["median_ms"]


def compare(model, threads, engines, work, options):
    """All engines on one model with one thread count: {engine: row}."""
    rows, live = {}, {}
    inputs = work / model.stem / "inputs.npz"
    inputs.parent.mkdir(parents=True, exist_ok=True)
    feeds = model_inputs(model)
    np.savez(inputs, **feeds)
    wanted, names = reference(model, feeds)
    for engine in engines:
        made = convert(engine, model, work, options)
        if "error" in made:
            rows[engine] = {"error": "convert: " + made["error"]}
            continue
        folder = work / model.stem / engine
        outputs = folder / "outputs.npz"
        job = Worker(folder / "log", task="run", engine=engine, model=str(model), path=made["path"], threads=threads,
                     inputs=str(inputs), outputs=str(outputs))
        try:
            started = job.read(120)
            job.pause()
            order = started.pop("names")
            found = arrays(outputs)
            if order:
                found = [found[order.index(name)] for name in names]
            started.update(convert_s=made["seconds"], cpu_s=made["cpu_seconds"], error_sigma=error_in_sigma(found, wanted))
            rows[engine], live[engine] = started, job
        except (RuntimeError, ValueError) as error:
            rows[engine] = {"error": "run: " + str(error), "convert_s": made["seconds"], "cpu_s": made["cpu_seconds"]}
            job.close()
    product = None
    if options["texel"]:
        try:
            product = Texel(options["texel"], model, threads, inputs, work / model.stem / "texel.npz", names)
            rows["texel"] = {"error_sigma": error_in_sigma(product.outputs, wanted)}
        except (RuntimeError, OSError, KeyError, ValueError) as error:
            rows["texel"] = {"error": "run: " + str(error)}

    rounds = {engine: [] for engine in rows if "error" not in rows[engine]}
    spent = {engine: rows[engine]["cold_ms"] - rows[engine]["load_ms"] for engine in live}  # ms of one run
    slow = set()  # engines whose one run takes several slices: three rounds have to do
    for r in range(3 * options["rounds"]):
        if r >= options["rounds"] and all(len(undisturbed(rounds[e])) >= options["rounds"] for e in rounds.keys() - slow):
            break
        order = list(rounds)
        for engine in order[r % len(order):] + order[:r % len(order)]:
            try:
                if engine == "texel":
                    rounds[engine].append([(product.measure(), True)])
                    continue
                if spent[engine] > 4 * options["slice"]:
                    slow.add(engine)
                if engine in slow and r >= 3:
                    continue
                iterations = max(1, min(2000, round(options["slice"] / spent[engine])))
                times = live[engine].measure(iterations, warm_up=engine not in slow)
            except (RuntimeError, ValueError, KeyError) as error:
                rows[engine] = {"error": "run: " + str(error)}
                rounds.pop(engine)
                continue
            rounds[engine].append(times)
            spent[engine] = statistics.median(ms for ms, _ in times)
    for job in live.values():
        job.close()
    for engine, slices in rounds.items():
        rows[engine].update(summary(slices))
    if product:
        rows["texel"].update(product.figures)
    return rows


def undisturbed(slices):
    return [ms for times in slices for ms, clean in times if clean]


def summary(slices):
    good, every = undisturbed(slices), sorted(ms for times in slices for ms, _ in times)
    few = len(good) < 3
    used = every[:max(1, len(every) // 4)] if few else good
    medians = [statistics.median(good) for good in (undisturbed([times]) for times in slices) if good] or used
    return {"median_ms": statistics.median(used), "min_ms": every[0], "low_ms": min(medians), "high_ms": max(medians),
            "runs": len(every), "undisturbed": len(good), "few": few}


def multiply_adds(model):
    """Of the convolutions and matrix products; shapes from ONNX's inference."""
    import onnx

    graph = onnx.shape_inference.infer_shapes(onnx.load(model)).graph
    shapes = {w.name: list(w.dims) for w in graph.initializer}
    for value in [*graph.input, *graph.value_info, *graph.output]:
        shapes[value.name] = [d.dim_value for d in value.type.tensor_type.shape.dim]
    total = 0
    for node in graph.node:
        if node.op_type in ("Conv", "ConvTranspose"):
            made = shapes[node.output[0] if node.op_type == "Conv" else node.input[0]]
            total += math.prod(made) * math.prod(shapes[node.input[1]][1:])
        elif node.op_type in ("Gemm", "MatMul"):
            total += math.prod(shapes[node.output[0]]) * shapes[node.input[0]][-1]
    return total


def reference(model, feeds):
    """What onnxruntime answers without graph optimisation, and the outputs' names."""
    import onnxruntime

    config = onnxruntime.SessionOptions()
    config.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    config.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(model), config, providers=["CPUExecutionProvider"])
    return session.run(None, feeds), [v.name for v in session.get_outputs()]


# -- the report ----------------------------------------------------------------------------------------------


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def figure(ms):
    """Three significant figures."""
    return f"{ms:.{max(0, min(4, 2 - math.floor(math.log10(ms))))}f}"


def report(results, engines, work_of, peak):
    """Markdown of {threads: {model: {engine: row}}}. `work_of`: multiply-adds a model; `peak`: GFLOP/s of a core."""
    parts = []
    for threads, models in results.items():
        def cells(show):
            return [[model] + [show(rows.get(e, {}), rows) for e in engines] for model, rows in models.items()]

        def best(rows):
            return min((r["median_ms"] for e, r in rows.items()
                        if e != "texel" and "median_ms" in r and r["error_sigma"] < WRONG), default=None)

        def latency(row, rows):
            if "median_ms" not in row:
                return "fails" if "error" in row else "-"
            wrong = " WRONG" if row["error_sigma"] >= WRONG else ""
            mark = "**" if row["median_ms"] == best(rows) else ""
            ratio = f" ({row['median_ms'] / best(rows):.2f}x)" if best(rows) else ""
            return f"{'~' * row['few']}{mark}{figure(row['median_ms'])}{mark}{ratio}{wrong}"

        def field(key, form):
            return lambda row, rows: form.format(row[key]) if key in row else "-"

        def spread(row, rows):
            if "min_ms" not in row:
                return "-"
            return f"{figure(row['min_ms'])} ({figure(row['low_ms'])}..{figure(row['high_ms'])})"

        head = ["model", *engines]
        plural = "s" if threads != 1 else ""
        parts += [f"## {threads} thread{plural}: median ms (ratio to the best right peer)\n", table(head, cells(latency)),
                  f"### {threads} thread{plural}: minimum ms (lowest..highest median of a round)\n", table(head, cells(spread)),
                  f"### {threads} thread{plural}: cold start, ms from session creation to first result\n",
                  table(head, cells(field("cold_ms", "{:.0f}"))),
                  f"### {threads} thread{plural}: peak memory of load and first inference, MB over the imported library\n",
                  table(head, cells(field("peak_mb", "{:.0f}"))),
                  f"### {threads} thread{plural}: largest error in standard deviations of the output\n",
                  table(head, cells(field("error_sigma", "{:.0e}")))]
        if peak:
            parts += [f"### {threads} thread{plural}: effective GFLOP/s as a share of {threads} x {peak:.0f} GFLOP/s\n",
                      table(["model", "MACs M", *engines], [
                          [model, f"{work_of[model] / 1e6:.0f}"] + [
                              f"{2e-6 * work_of[model] / rows[e]['median_ms'] / (threads * peak):.0%}"
                              if "median_ms" in rows.get(e, {}) else "-" for e in engines]
                          for model, rows in models.items()])]
    first = next(iter(results.values()))
    parts += ["## Conversion or compilation: seconds, and seconds of CPU\n", table(["model", *engines], [
        [model] + [f"{rows[e]['convert_s']:.1f} ({rows[e]['cpu_s']:.1f})" if "convert_s" in rows.get(e, {}) else "-"
                   for e in engines] for model, rows in first.items()])]
    failures = {(model, e, row["error"]) for models in results.values() for model, rows in models.items()
                for e, row in rows.items() if "error" in row}
    parts += ["## Failures\n", *[f"* {model}, {e}: {text}\n" for model, e, text in sorted(failures)]]
    return "\n".join(parts)


def installed(engine):
    with contextlib.suppress(ModuleNotFoundError):
        return all(importlib.util.find_spec(module) for module in engine.needs)
    return False


def timed_out(*_):
    raise TimeoutError


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", type=pathlib.Path, help="ONNX files")
    parser.add_argument("--work", type=pathlib.Path, help="folder for converted models (default: a temporary one)")
    parser.add_argument("--engines", default=",".join(ENGINES), help="default: %(default)s")
    parser.add_argument("--threads", default="1,2", help="thread counts (default %(default)s)")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--slice", type=float, default=250, help="milliseconds an engine runs in a round (default 250)")
    parser.add_argument("--texel", metavar="PATH", help="the product's command; see above")
    parser.add_argument("--onnx2tf", metavar="PATH", help="converter for litert")
    parser.add_argument("--peak", type=float, metavar="GFLOPS", help="of one core, from peak.c: adds a table of the share reached")
    parser.add_argument("--convert-limit", type=float, default=600, help="seconds a conversion may take (default 600)")
    parser.add_argument("--convert-only", action="store_true")
    parser.add_argument("--json", type=pathlib.Path, help="also write all figures here")
    parser.add_argument("--markdown", type=pathlib.Path, help="write the tables here instead of printing them")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        return worker(json.loads(args.worker))
    if not args.models:
        parser.error("no models")

    signal.signal(signal.SIGALRM, timed_out)
    engines = [name for name in args.engines.split(",") if installed(ENGINES[name])]
    for name in set(args.engines.split(",")) - set(engines):
        print(f"{name} is not installed and left out", file=sys.stderr)
    work = (args.work or pathlib.Path(tempfile.mkdtemp())).resolve()
    options = {"rounds": args.rounds, "slice": args.slice, "texel": args.texel, "onnx2tf": args.onnx2tf,
               "convert_limit": args.convert_limit}
    models = [path.resolve() for path in args.models]
    for model in models:
        for engine in engines:
            made = convert(engine, model, work, options)
            print(f"{model.stem} {engine}: {made.get('error') or format(made['seconds'], '.1f') + ' s'}",
                  file=sys.stderr, flush=True)
    if args.convert_only:
        return

    results = {}
    for threads in map(int, args.threads.split(",")):
        results[threads] = {}
        for model in models:
            rows = results[threads][model.stem] = compare(model, threads, engines, work, options)
            print(f"{model.stem}, {threads} threads: " + ", ".join(
                f"{e} {row['median_ms']:.2f} ({row['undisturbed']}/{row['runs']})" if "median_ms" in row else f"{e} fails"
                for e, row in rows.items()),
                file=sys.stderr, flush=True)
            if args.json:
                args.json.write_text(json.dumps(results, indent=1))
    work_of = {model.stem: multiply_adds(model) for model in models}
    text = report(results, [*engines, *(["texel"] if args.texel else [])], work_of, args.peak)
    if args.markdown:
        args.markdown.write_text(text)
    else:
        print(text)


if __name__ == "__main__":
    main()
