"""What the relay publishes must not shut a topic for what comes after it."""
import random
from types import SimpleNamespace

from oxygen_ros.chaos import mutate
from oxygen_ros.chaos.relay import Relay


def test_no_sample_is_empty_because_nothing_that_its_writer_says_later_would_arrive(monkeypatch):
    monkeypatch.setattr(mutate, 'any_of', lambda random, samples: b'')
    published = []
    publisher = SimpleNamespace(publish=published.append)
    relay = SimpleNamespace(_instruction=publisher, _question=publisher, _emergency=publisher, _joints=publisher,
                            _cameras={'image': publisher}, _samples={}, _random=random.Random(0), unsendable=0)
    Relay.pester(relay)
    assert len(published) == 5 and all(published)
