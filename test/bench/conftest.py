"""Makes the engine's tiny model importable here too; one thread, as models this small only wait for a second."""
from pathlib import Path
import sys

import torch

sys.path.append(str(Path(__file__).resolve().parent.parent / 'engine'))
torch.set_num_threads(1)
