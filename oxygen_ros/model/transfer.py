"""From host memory to the model's device without waiting for what the device is doing."""


def to_device(tensor, device):
    """`tensor` on `device`; for a GPU through pinned memory, as a copy from pageable memory waits for the stream."""
    if device.type == 'cuda' and tensor.device.type == 'cpu':
        return tensor.pin_memory().to(device, non_blocking=True)
    return tensor.to(device)
