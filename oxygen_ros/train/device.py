"""Where a training computes. Everything is drawn and kept on the CPU; a step's tensors are moved."""
import torch

from oxygen_ros.model.transfer import to_device


def check_device(name):
    """ValueError with a sentence where torch cannot use that device."""
    try:
        kind = torch.device(name).type
    except RuntimeError:
        raise ValueError(f'--device is cpu, cuda or one of several as cuda:1, got {name!r}') from None
    if kind == 'cuda' and not torch.cuda.is_available():
        raise ValueError('no CUDA GPU is usable from this torch; install a CUDA build of torch or use --device cpu')


def moved(values, device):
    """A dataclass of tensors, some may be None, on a device."""
    return type(values)(**{name: None if value is None else to_device(value, torch.device(device))
                           for name, value in vars(values).items()})
