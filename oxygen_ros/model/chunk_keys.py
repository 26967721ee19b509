"""Keys and values of a prefix with those of an action chunk behind them."""
from oxygen_ros.model.attention import attend


class ChunkKeys:
    """
    What a chunk of `rows` attends to: `length` positions of `kv [L, 2, >= length + rows, D]`, and itself.

    The views are made once for all steps and layers. `bias [1, length + rows]` hides padding.
    """

    def __init__(self, kv, length, rows, bias=None):
        stop = length + rows
        self.own = [x.unbind() for x in kv[:, :, length:stop].unbind()]
        self.keys, self.values = (x.unbind() for x in kv[:, :, :stop].unbind(1))
        self.bias = bias

    def attend(self, layer, q, k, v):
        """Store the chunk's own `k, v [H, D]`, attend with `q [H, heads, D]` -> `[H, heads * D]`."""
        own_keys, own_values = self.own[layer]
        own_keys.copy_(k), own_values.copy_(v)
        return attend(q, self.keys[layer], self.values[layer], self.bias)
