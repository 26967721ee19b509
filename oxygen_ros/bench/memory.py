"""Suite `memory`: what each mode holds at most, measured in a process of its own, beside what it should hold."""
import json
import os
import resource
import subprocess
import sys

from oxygen_ros.bench.held import memory_meter

# glibc otherwise keeps what the building of the model has given back.
ENVIRONMENT = {'MALLOC_TRIM_THRESHOLD_': '0', 'MALLOC_MMAP_THRESHOLD_': '65536', 'MALLOC_ARENA_MAX': '1'}


def memory(options, progress):
    """Every mode by itself; `over_isolated` is its peak over that of mode isolated."""
    from oxygen_ros.bench.header import header
    result = {**header(options, 'memory'), 'shapes': vars(options.shapes), 'modes': {}}
    for mode in options.modes:
        progress(f'memory of {mode}')
        found = result['modes'][mode] = memory_of(options, mode)
        least = result['modes'].get('isolated', {}).get('peak_bytes')
        if least and found['peak_bytes']:
            found['over_isolated'] = found['peak_bytes'] / least
    return result


def memory_of(options, mode):
    """
    `{peak_bytes, weight_bytes, table_bytes, pool_bytes, activation_bytes, kept_bytes, expected_bytes, to_expected}`.

    On a CPU the peak is that of the process less what it held before there was a model, mapped files (libraries) apart;
    on a GPU the most that torch had allocated there. Weights, tables, pool and activations add up to what is expected;
    `kept_bytes` stay behind when frames have run: oneDNN keeps what it has made for each shape that it met, a GPU the
    tensors of captured stages. `to_expected` is the peak without those over what is expected. Where the system does not
    say, `peak_bytes` is None and `peak_bytes_missing` tells why.
    """
    if memory_meter(options.device) is None:
        return without_memory('this system has no /proc/self/clear_refs')
    import torch
    command = [sys.executable, '-m', 'oxygen_ros.bench.memory', options.model, options.dtype, options.device, mode,
               str(options.tokens), str(options.views), str(torch.get_num_threads())]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **ENVIRONMENT})
    if done.returncode:
        raise RuntimeError(f'measuring the memory of mode {mode} failed: {done.stderr.strip()[-300:]}')
    return json.loads(done.stdout)


def without_memory(reason):
    """The same where nothing was measured."""
    return {'peak_bytes': None, 'peak_bytes_missing': reason}


def peak_of_this_process():
    """Most memory that this process has held at once [byte]."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def table_bytes(tables):
    """Bytes of what is kept for each of the denoising times."""
    kept = [x for step in tables for table in (step, *step.layers) for x in vars(table).values()]
    return sum(x.numel() * x.element_size() for x in kept if not isinstance(x, tuple))


def measure(options, mode):
    """Build, fill the batch and run one frame more; in a process that does nothing else."""
    import torch

    from oxygen_ros.bench import cost
    from oxygen_ros.bench.bench import Bench
    meter, shapes = memory_meter(options.device), options.shapes
    on_gpu = options.device.startswith('cuda')
    base = meter.held()
    bench = Bench(options, shapes)
    if not on_gpu:
        base += bench.processor.bytes
    tables = pool = 0
    with torch.inference_mode():
        if mode == 'reference':
            runner = bench.reference()
            weights = sum(x.numel() * x.element_size() for x in runner.reference.w.values())
            bench.model = None
        else:
            engine = bench.engine(mode)
            engine.pool.prefix.fill_(0)  # touch all pages: the pool counts in full
            engine.pool.slots.fill_(0)
            runner, pool, weights = bench.runner(engine), engine.pool.bytes, bench.model.weight_bytes()
            tables = table_bytes(engine.tables)
        built = meter.held()
        if on_gpu:  # a captured stage allocates while it is captured, in `fill`, and never again
            meter.reset_peak()
        runner.fill()
        if not on_gpu:
            meter.reset_peak()
        runner.frame()
    peak = meter.peak() - base
    parts = {'weight_bytes': weights, 'table_bytes': tables, 'pool_bytes': pool,
             'activation_bytes': cost.activation_bytes(bench.config, mode, shapes, bench.dtype.itemsize)}
    expected, kept = sum(parts.values()), meter.held() - built
    return {'peak_bytes': peak, **parts, 'kept_bytes': kept, 'expected_bytes': expected,
            'to_expected': (peak - kept) / expected}


def main(arguments):
    import torch
    model, dtype, device, mode, tokens, views, threads = arguments
    torch.set_num_threads(int(threads))
    torch.ones(1) @ torch.ones(1)
    from oxygen_ros.bench.bench import Options
    print(json.dumps(measure(Options(model, dtype, device, 1, 'wall', int(tokens), views=int(views)), mode)))


if __name__ == '__main__':
    main(sys.argv[1:])
