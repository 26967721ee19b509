"""Suite `drafting`: answers that differ in a tenth of their tokens from frame to frame, drafted and plain."""
import numpy as np

from oxygen_ros.bench.bench import Bench
from oxygen_ros.bench.measure import interleave


class Answers:
    """Answer of each frame, `[N]` token ids: that of the frame before with `change` of its tokens replaced."""

    def __init__(self, tokens, vocabulary, change=0.1, seed=0):
        self.tokens, self.vocabulary, self.change = tokens, vocabulary, change
        self._random = np.random.default_rng(seed)
        self._made = [self._random.integers(3, vocabulary, tokens)]

    def of(self, frame):
        while len(self._made) <= frame:
            answer = self._made[-1].copy()
            places = self._random.random(self.tokens) < self.change
            answer[places] = self._random.integers(3, self.vocabulary, places.sum())
            self._made.append(answer)
        return self._made[frame]


def dictate(engine, answers):
    """Let `answers` take the place of the model's own choice; all of the engine's work is still done."""
    def choose(streams, drafts, logits):
        logits.argmax(-1).tolist()
        chosen = []
        for stream, draft in zip(streams, drafts):
            answer, start = answers.of(stream.frame_id), len(stream.tokens)
            chosen += [int(answer[min(start + i, len(answer) - 1)]) for i in range(len(draft) + 1)]
        return chosen

    engine.language.greedy = choose


def drafting(options, progress, width=8):
    """One request and one decode round a frame, N = 30 by default; the same answers with and without drafts."""
    shapes = options.shapes
    bench = Bench(options, shapes)
    runners, said = {}, {}
    for name, tokens in (('plain', 0), ('drafted', width)):
        engine = bench.engine('oxygen', draft_tokens=tokens)
        dictate(engine, Answers(shapes.tokens, bench.config.vocabulary))
        runners[name] = runner = bench.runner(engine)
        said[name] = runner.texts = {}
        engine.warm_up()
        for number in range(shapes.tokens):  # real frames: the answers must follow one another
            progress(f'filling {name}: frame {number + 1} of {shapes.tokens}')
            runner.frame()
        runner.measuring = True
    before = {name: vars(runner.engine.counters).copy() for name, runner in runners.items()}
    interleave({name: runner.frame for name, runner in runners.items()}, options.rounds, progress)
    result = bench.header('drafting')
    result['rounds'], result['modes'] = options.rounds, {}
    for name, runner in runners.items():
        done = {key: value - before[name][key] for key, value in vars(runner.engine.counters).items()}
        figures = runner.samples.summary()
        rows = sum(runner.samples.values['advanced'])
        result['modes'][name] = {
            **figures, 'chunk_horizon': shapes.horizon, 'decode_rounds': done['decode_rounds'],
            'tokens': done['tokens'], 'tokens_per_round_and_stream': done['tokens'] / max(rows, 1),
            'drafted': done['drafted'], 'accepted': done['accepted']}
    finished = [i for i in said['plain'] if i in said['drafted'] and len(said['plain'][i]) == shapes.tokens
                and len(said['drafted'][i]) == shapes.tokens]
    result['texts_compared'] = len(finished)
    result['texts_equal'] = sum(said['plain'][i] == said['drafted'][i] for i in finished)
    result['gain'] = (result['modes']['drafted']['tokens_per_round_and_stream']
                      / result['modes']['plain']['tokens_per_round_and_stream'])
    return result
