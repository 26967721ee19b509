"""Colours of the node's states, RGB 0-255, the same in every viewer."""

STATES = {
    'running': (43, 147, 72), 'holding': (224, 160, 0), 'waiting': (224, 160, 0), 'inactive': (122, 133, 148),
    'unconfigured': (122, 133, 148), 'stopped': (192, 57, 43), 'error': (192, 57, 43),
}
UNKNOWN = (122, 133, 148)
PLAN, MEASURED, COMMANDED = (224, 123, 0), (122, 133, 148), (31, 111, 209)


def state_colour(state):
    """Colour of a state; grey for one that is not known."""
    return STATES.get(state, UNKNOWN)
