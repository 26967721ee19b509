"""A computation at fixed addresses: a CUDA graph where there is a GPU, a plain call elsewhere."""
import torch


class Captures:
    """The computations prepared for one engine: how many there are, and the memory that their graphs share."""

    def __init__(self, device):
        self.count = 0
        self.pool = torch.cuda.graph_pool_handle() if torch.device(device).type == 'cuda' else None


class Replay:
    """
    `call()` reads and writes tensors that stay where they are, and returns tensors.

    On CUDA it is captured once (three runs on a side stream first, as torch asks) and replayed afterwards: one launch
    for all its kernels. All graphs of `captures` share one memory and must not run at the same time.
    """

    def __init__(self, call, device, captures):
        self.call, self.graph, self.output = call, None, None
        captures.count += 1
        if torch.device(device).type != 'cuda':
            return
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                call()
        torch.cuda.current_stream().wait_stream(stream)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph, pool=captures.pool):
            self.output = call()

    def __call__(self):
        """Run it; the tensors returned may be overwritten by the next run of any computation of `captures`."""
        if self.graph is None:
            return self.call()
        self.graph.replay()
        return self.output
