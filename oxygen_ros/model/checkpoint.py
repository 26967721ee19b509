"""Published pi0.5 weights, from a file or folder to the model, strictly."""
from dataclasses import dataclass, field
from pathlib import Path

from safetensors import SafetensorError, safe_open
import torch
from tqdm import tqdm

from oxygen_ros.model.pi05 import expected_tensors
from oxygen_ros.model.safetensors_header import read_header
from oxygen_ros.model.tensor_names import DEAD, EMBEDDING, canonical, describe_layout, refuse_other_models
from oxygen_ros.model.tensors import HEAD

FLOATS = ('F32', 'BF16', 'F16')
MAX_SHARDS = 64
JAX_STEPS = ('convert it with openpi: `uv run examples/convert_jax_model_to_pytorch.py --checkpoint_dir {folder} '
             '--config_name <its openpi config, e.g. pi05_droid> --output_path <new folder>`, copy its assets/ folder '
             'into the new one, and give that')
PICKLES = ('.pt', '.pth', '.bin', '.ckpt', '.pkl')


@dataclass(frozen=True)
class Stored:
    """Where one tensor lies."""

    file: Path
    name: str
    dtype: str
    shape: tuple[int, ...]
    bytes: int


@dataclass(frozen=True)
class Checkpoint:
    """The weights found at a path: canonical name -> Stored; nothing has been read yet but the headers."""

    path: Path
    folder: Path
    tensors: dict[str, Stored] = field(repr=False)
    layout: str
    dropped: tuple[str, ...] = ()

    @property
    def bytes(self):
        return sum(stored.bytes for stored in self.tensors.values())

    @property
    def dtypes(self):
        """Names of the number types in the file, the most frequent first."""
        found = [stored.dtype for stored in self.tensors.values()]
        return sorted(set(found), key=lambda dtype: (-found.count(dtype), dtype))


def find_files(path):
    """Path of a file or folder -> list of safetensors files; raises with what it found instead."""
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f'no checkpoint at {path}')
    if path.is_file():
        if path.suffix in PICKLES:
            raise ValueError(f'{path} is a pickled PyTorch file, which can run code when it is read; convert it to '
                             'safetensors where you trust it')
        return [path]
    if (path / 'model.safetensors').is_file():
        return [path / 'model.safetensors']
    shards = sorted(path.glob('model-*-of-*.safetensors'))
    if shards:
        count = int(shards[0].stem.rpartition('-')[2]) if shards[0].stem.rpartition('-')[2].isdigit() else 0
        if len(shards) != count or count > MAX_SHARDS:
            raise ValueError(f'{path} has {len(shards)} of the {count} parts model-*-of-*.safetensors '
                             f'(limit {MAX_SHARDS})')
        return shards
    for params in (path, path / 'params'):
        if any((params / name).exists() for name in ('_METADATA', 'manifest.ocdbt', '_sharding')):
            folder = params.parent if params.name == 'params' else params
            raise ValueError(f'{path} is a JAX checkpoint of openpi (orbax params/): {JAX_STEPS.format(folder=folder)}')
    if (path / 'adapter_model.safetensors').is_file():
        raise ValueError(f'{path} is a LoRA adapter without its base model: merge it into the base and save that')
    inner = path / 'pretrained_model'
    if inner.is_dir():
        return find_files(inner)
    pickles = sorted(p.name for p in path.iterdir() if p.suffix in PICKLES)
    if pickles:
        raise ValueError(f'{path} holds pickled weights ({pickles[0]}), which can run code when they are read; '
                         'convert them to safetensors where you trust them')
    raise FileNotFoundError(f'no model.safetensors in {path}: it has {sorted(p.name for p in path.iterdir())[:8]}')


def open_checkpoint(path):
    """
    Read the headers at `path` and return the Checkpoint; raises ValueError or FileNotFoundError with one sentence.

    Refuses pi0, JAX and pickled checkpoints, two tensors of one canonical name, and numbers that are not floats.
    """
    path = Path(path)
    files = find_files(path)
    tensors, names, dropped = {}, [], []
    for file in files:
        entries, _ = read_header(file)
        for name, entry in entries.items():
            names.append(name)
            short = canonical(name)
            if short in DEAD:
                dropped.append(name)
                continue
            if short in tensors:
                raise ValueError(f'{file} has {name} and {tensors[short].name}, which are the same tensor')
            tensors[short] = Stored(file, name, entry.dtype, entry.shape, entry.bytes)
    refuse_other_models(names, path)
    for name, stored in tensors.items():
        if stored.dtype not in FLOATS:
            raise ValueError(f'{stored.file}: tensor {name} has type {stored.dtype}, only {list(FLOATS)} can be run '
                             '(quantised files are not supported)')
    if EMBEDDING not in tensors and HEAD not in tensors:
        raise ValueError(f'{path} has neither {EMBEDDING} nor {HEAD}: the token embedding is lost')
    if EMBEDDING not in tensors:  # tied, stored once under the head's name
        tensors[EMBEDDING] = tensors.pop(HEAD)
    return Checkpoint(path, files[0].parent, tensors, describe_layout(names), tuple(dropped))


def check_tensors(checkpoint, config):
    """Raise ValueError unless the checkpoint has exactly the tensors of `config`, in their shapes."""
    expected = dict(expected_tensors(config))
    if HEAD in checkpoint.tensors:
        expected.setdefault(HEAD, expected[EMBEDDING])
    else:
        expected.pop(HEAD, None)
    wrong = [f'{name} is {list(stored.shape)} in the file and {list(expected[name])} in the model'
             for name, stored in checkpoint.tensors.items()
             if name in expected and tuple(stored.shape) != tuple(expected[name])]
    missing = [name for name in expected if name not in checkpoint.tensors]
    extra = [name for name in checkpoint.tensors if name not in expected]
    problems = [f'{len(rows)} {what}: {"; ".join(rows[:3])}{"; ..." if len(rows) > 3 else ""}'
                for what, rows in (('of another shape', wrong), ('missing', missing), ('unknown', extra)) if rows]
    if problems:
        raise ValueError(f'{checkpoint.path} does not fit the model, tensors {"; ".join(problems)}')


def read_tensors(checkpoint, progress=True, check_finite=True):
    """
    Yield `(canonical name, tensor)` of every tensor, memory-mapped in its stored type; nothing is copied.

    Raises ValueError that names a tensor with a NaN or an infinity in it.
    """
    files = {stored.file for stored in checkpoint.tensors.values()}
    with tqdm(total=checkpoint.bytes, unit='B', unit_scale=True, desc='loading weights', disable=not progress,
              mininterval=0.5) as bar:
        for file in sorted(files):
            rows = [(name, stored) for name, stored in checkpoint.tensors.items() if stored.file == file]
            try:
                with safe_open(file, 'pt') as opened:
                    for name, stored in rows:
                        tensor = opened.get_tensor(stored.name)
                        if check_finite and not finite(tensor):
                            raise ValueError(f'{file}: tensor {stored.name} has NaN or infinite numbers')
                        yield name, tensor
                        bar.update(stored.bytes)
            except (OSError, RuntimeError, SafetensorError) as error:  # tensors that overlap; a disk that fails
                raise ValueError(f'{file} cannot be read: {error}') from None


def finite(tensor):
    """Whether all numbers are finite, without a mask as large as the tensor."""
    low, high = tensor.aminmax()
    return bool(torch.isfinite(low) and torch.isfinite(high))


def head_differs(checkpoint):
    """Whether a file that has both the embedding and the language head has two different ones (fine-tuned apart)."""
    if HEAD not in checkpoint.tensors:
        return False
    a, b = checkpoint.tensors[EMBEDDING], checkpoint.tensors[HEAD]
    if a.shape != b.shape:
        return True
    with safe_open(a.file, 'pt') as first, safe_open(b.file, 'pt') as second:
        left, right = first.get_slice(a.name), second.get_slice(b.name)
        for start in range(0, a.shape[0], 8192):
            if not torch.equal(left[start:start + 8192].float(), right[start:start + 8192].float()):
                return True
    return False


def load_into(model, checkpoint, progress=True):
    """
    Load the weights of an open Checkpoint into a Pi05, straight to its type and device.

    Raises ValueError that names every kind of tensor that is missing, unknown, misshapen or not finite. The expert's
    dead language head is left out; a language head that equals the embedding is tied.
    """
    check_tensors(checkpoint, model.config)
    model.load_tensors(read_tensors(checkpoint, progress))
    return model
