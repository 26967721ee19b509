"""Peak memory of one mode, measured in a process of its own."""
import json
import os
from pathlib import Path
import subprocess
import sys


def peak_bytes(options, mode):
    """
    `{peak_bytes, weight_bytes, pool_bytes}` of `mode`: all it holds at most, and two of its parts.

    Empty where the system does not say (not Linux), and for other devices than the CPU.
    """
    if options.device != 'cpu' or not Path('/proc/self/clear_refs').exists():
        return {}
    import torch
    command = [sys.executable, '-m', 'oxygen_ros.bench.memory', options.model, options.dtype, mode,
               str(torch.get_num_threads())]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f'measuring the memory of mode {mode} failed: {done.stderr.strip()[-300:]}')
    return json.loads(done.stdout)


def _status(key):
    for line in Path('/proc/self/status').read_text().splitlines():
        if line.startswith(key):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f'/proc/self/status has no {key}')


def measure(model, dtype, mode, frames=3):
    """Build, then reset the peak and run some frames -> `{peak_bytes, weight_bytes, pool_bytes}`."""
    import torch

    from oxygen_ros.bench.bench import Bench, Options
    from oxygen_ros.bench.runners import EngineRunner
    from oxygen_ros.bench.workload import Shapes
    base, shapes = _status('VmRSS'), Shapes()
    bench = Bench(Options(model, dtype, 'cpu', frames, 'wall'), shapes)
    with torch.inference_mode():
        if mode == 'reference':
            runner, pool = bench.reference(), 0
            weights = sum(x.numel() * x.element_size() for x in runner.reference.w.values())
            bench.model = None
        else:
            engine = bench.engine(mode)
            engine.pool.prefix.fill_(0)  # touch all pages: the pool counts in full
            engine.pool.slots.fill_(0)
            runner, pool, weights = EngineRunner(engine, shapes), engine.pool.bytes, bench.model.weight_bytes()
        Path('/proc/self/clear_refs').write_text('5')
        for _ in range(frames):
            runner.frame()
    return {'peak_bytes': _status('VmHWM') - base, 'weight_bytes': weights, 'pool_bytes': pool}


def main(arguments):
    import torch
    torch.set_num_threads(int(arguments[3]))
    torch.ones(1) @ torch.ones(1)
    print(json.dumps(measure(*arguments[:3])))


if __name__ == '__main__':
    os.environ.setdefault('MALLOC_TRIM_THRESHOLD_', '0')
    main(sys.argv[1:])
