"""The engine from the parameters: a missing library is named, and the model is warm before anything is heard."""
import builtins
import sys

from oxygen_ros.engine.engine import Engine
import pytest
from rclpy.lifecycle import TransitionCallbackReturn

from rig import Rig


@pytest.fixture
def rig():
    rig = Rig(engine__fake=False)
    yield rig
    rig.close()


def without(monkeypatch, library):
    """As in an interpreter that lacks `library`: whatever imports it from now on fails as Python fails."""
    real = builtins.__import__

    def import_or_not(name, *arguments, **more):
        if name.partition('.')[0] == library:
            raise ModuleNotFoundError(f'No module named {library!r}', name=library)
        return real(name, *arguments, **more)
    monkeypatch.delitem(sys.modules, 'oxygen_ros.model.checkpoint', raising=False)  # imported anew: it needs them all
    monkeypatch.setattr(builtins, '__import__', import_or_not)


@pytest.mark.parametrize('library', ['torch', 'safetensors', 'tqdm'])
def test_a_missing_library_is_named_with_its_interpreter_and_how_to_install_it(rig, monkeypatch, library):
    with monkeypatch.context() as patch:
        without(patch, library)
        assert rig.node.trigger_configure() is TransitionCallbackReturn.FAILURE
    assert rig.node.problem == (f"No module named '{library}' in {sys.executable}; install it with: "
                                f'{sys.executable} -m pip install {library}')
    assert rig.node.trigger_configure() is TransitionCallbackReturn.SUCCESS, rig.node.problem


def test_the_model_is_warm_before_the_node_listens(rig, monkeypatch):
    """Compiling and first allocations take seconds, which must not make the first pictures late."""
    seen, warm_up = [], Engine.warm_up

    def watched(engine):
        topics = {name for name, _ in rig.node.get_subscriber_names_and_types_by_node('oxygen', rig.namespace)}
        seen.append((engine, engine.counters.frames, topics))
        return warm_up(engine)
    monkeypatch.setattr(Engine, 'warm_up', watched)
    assert rig.node.start() == ''
    (engine, frames, topics), = seen
    inputs = {subscription.topic_name for subscription in rig.node.listener.subscriptions}
    assert engine is rig.node.parts.engine and frames == 0 and inputs and not inputs & topics
