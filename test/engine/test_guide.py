"""The engine asks for guidance once a frame and lets it bend the actions, not the text."""
import numpy as np
from oxygen_ros.engine.guidance import Guidance
from tiny_engine import ask, engine, Log, observation
import torch


def chunks_and_tokens(guide, frames=3):
    made, log = engine(decode_rounds=9), Log()
    made.guide = guide
    made.warm_up()
    tokens = []
    for i in range(frames):
        report = made.run_frame(observation(i), [ask(5)], log.chunk, log.token)
        tokens.append(log.tokens(report.request_ids[0]))
    return [chunk.data for chunk in log.chunks], tokens, made.model.config


def test_guidance_bends_the_actions_and_leaves_the_text_alone():
    free, said, config = chunks_and_tokens(None)
    asked = []

    def guide(seen):
        asked.append(seen)
        shape = config.horizon, config.action_dim
        return Guidance(torch.zeros(shape), torch.ones(shape)) if len(asked) == 2 else None

    guided, said_too, _ = chunks_and_tokens(guide)
    assert len(asked) == 3 and said == said_too
    assert np.array_equal(free[0], guided[0]) and np.array_equal(free[2], guided[2])
    assert not np.array_equal(free[1], guided[1]) and np.isfinite(guided[1]).all()
