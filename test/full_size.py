"""
Write a full-size random checkpoint in each layout, load it in bfloat16, delete it: python test/full_size.py FOLDER.

Needs 8 GB of disk and about 8 GB of memory; each load runs in a process of its own, so that its memory can be told.
"""
import argparse
import os
from pathlib import Path
import resource
import shutil
import subprocess
import sys
import time

import checkpoints

from oxygen_ros.model.config import CONFIGS


def load(path, device):
    """Load as the node does and print what it took."""
    import torch
    from oxygen_ros.model.checkpoint import load_into, open_checkpoint
    from oxygen_ros.model.pi05 import Pi05
    start = time.perf_counter()
    opened = open_checkpoint(path)
    model = load_into(Pi05(CONFIGS['pi05'], torch.bfloat16, device), opened, progress=False)
    took = time.perf_counter() - start
    status = dict(line.split(':', 1) for line in Path('/proc/self/status').read_text().splitlines())
    own = int(status['RssAnon'].split()[0]) / 1e6
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    count = sum(p.numel() for p in model.parameters())
    print(f'{opened.layout}: {count / 1e6:.0f} M parameters, {opened.bytes / 1e9:.2f} GB read in {took:.1f} s, '
          f'{own:.2f} GB of memory of its own, {peak:.2f} GB at most with the mapped file', flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('folder', type=Path)
    parser.add_argument('--layouts', nargs='+', choices=checkpoints.LAYOUTS, default=list(checkpoints.LAYOUTS))
    parser.add_argument('--dtype', choices=checkpoints.TYPES, default='bf16', help='of the file')
    parser.add_argument('--device', default='cpu')
    parser.add_argument('--load', action='store_true', help='only load FOLDER')
    arguments = parser.parse_args()
    if arguments.load:
        load(arguments.folder, arguments.device)
        return 0
    for layout in arguments.layouts:
        folder = arguments.folder / layout
        try:
            start = time.perf_counter()
            path = checkpoints.write_checkpoint(folder, CONFIGS['pi05'], layout, dtype=arguments.dtype)
            print(f'{layout}: {path.stat().st_size} bytes written in {time.perf_counter() - start:.0f} s', flush=True)
            subprocess.run([sys.executable, __file__, '--load', str(folder), '--device', arguments.device], check=True,
                           env={**os.environ, 'PYTHONPATH': os.pathsep.join(sys.path)})
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == '__main__':
    sys.exit(main())
