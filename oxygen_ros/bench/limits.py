"""What this machine can do at best: product rates at a stage's own shapes, and memory bandwidth."""
import os
import platform

import torch

from oxygen_ros.model.linear import Linear, can_pack


LARGEST = 1 << 26  # numbers of a matrix: more than any cache holds, as all the larger ones
PASSES = 4  # over that many float32: 1 GiB


def synchronise(device):
    if torch.device(device).type == 'cuda':
        torch.cuda.synchronize()


def best_s(call, device, clock, repeat=3, at_least_s=0.03):
    """Shortest time of `call`, of `repeat` runs or more after a warm-up."""
    call()
    synchronise(device)
    best, spent, runs = float('inf'), 0.0, 0
    while runs < repeat or spent < at_least_s:
        start = clock()
        call()
        synchronise(device)
        took = clock() - start
        best, spent, runs = min(best, took), spent + took, runs + 1
    return best


def gemm_gflops(rows, shapes, dtype, device, clock):
    """Best rate over `shapes [(out, in)]` at this number of rows, of the plain and the blocked kernel."""
    best = 0.0
    for outputs, inputs in shapes:
        outputs = min(outputs, LARGEST // inputs)
        x = torch.randn(rows, inputs, device=device).to(dtype)
        layer = Linear(inputs, outputs, dtype=dtype, device=device)
        layer.weight.data.normal_(0, 0.02)
        flop = 2 * rows * outputs * inputs
        best = max(best, flop / best_s(lambda: layer(x), device, clock) / 1e9)
        if can_pack(layer.weight):
            layer.pack(rows)
            best = max(best, flop / best_s(lambda: layer(x), device, clock) / 1e9)
    return best


def bandwidth_gb_s(device, clock):
    """Rate of reading 1 GiB: four times 256 MiB, more than any cache holds."""
    x = torch.ones(LARGEST, dtype=torch.float32, device=device)

    def read():
        for _ in range(PASSES):
            x.sum()

    return PASSES * x.numel() * x.element_size() / best_s(read, device, clock) / 1e9


def host(device='cpu'):
    """The machine in one line."""
    name = platform.processor() or platform.machine()
    try:
        with open('/proc/cpuinfo') as file:
            name = next(line.partition(':')[2].strip() for line in file if line.startswith('model name'))
    except (OSError, StopIteration):
        pass
    threads = torch.get_num_threads()
    line = f'{name}, {os.cpu_count()} cores, torch {torch.__version__} with {threads} thread{"s" * (threads > 1)}'
    if device.startswith('cuda'):
        line += f', {torch.cuda.get_device_name(device)}'
    return line + f', load {os.getloadavg()[0]:.1f}'
