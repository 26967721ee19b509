"""LeRobot 0.6.1's own pre- and post-processors, run by test/parity/peer_processors.py and stored."""
import json
from pathlib import Path

import numpy as np
from parity.compare import Observed, processor_of
import pytest

DATA = Path(__file__).parents[1] / 'data' / 'lerobot_pipeline'


@pytest.fixture(params=['seed_2', 'seed_4', 'seed_6'])
def pipeline(request):
    table = json.loads((DATA / request.param / 'cases.json').read_text())
    # with the tokenizer they were run with: the shipped one may be trained anew
    return processor_of(DATA / request.param, table, DATA / 'tokenizer.model'), table['cases']


def test_the_stored_pipelines_cover_every_kind():
    tables = [json.loads(path.read_text()) for path in DATA.glob('*/cases.json')]
    assert {table['mode'] for table in tables} == {'QUANTILES', 'MEAN_STD', 'MIN_MAX'}
    assert {table['relative'] for table in tables} == {True, False}


def test_prompt_tokens_equal_lerobots(pipeline):
    processor, cases = pipeline
    outside = 0
    for case in cases:
        prompt, count = processor.prompt(case['task'], np.array(case['state']))
        assert list(prompt.tokens) == case['tokens']
        outside += count
    assert outside  # states beyond the range are among them, below it too


def test_robot_actions_equal_lerobots(pipeline):
    processor, cases = pipeline
    for case in cases:
        model = np.zeros((processor.profile.chunk_horizon, 32))
        rows = np.array(case['model_actions'])
        model[:len(rows), :rows.shape[1]] = rows
        ours = processor.chunk(model, Observed(case['state']), 1).data[:len(rows)]
        np.testing.assert_allclose(ours, case['robot_actions'], atol=2e-6)
