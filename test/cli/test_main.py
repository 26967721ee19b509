import pytest

from oxygen_ros.__main__ import main, verbs


def test_without_a_verb_every_verb_is_shown_with_its_line(capsys):
    assert main([]) == 2
    shown = capsys.readouterr().out
    assert all(f'  {name}' in shown and line in shown for name, line in verbs().items())


def test_an_unknown_verb_is_named(capsys):
    with pytest.raises(SystemExit) as ended:
        main(['fly'])
    assert ended.value.code == 2 and "'fly'" in capsys.readouterr().err


@pytest.mark.parametrize('verb', verbs())
def test_every_verb_has_help(verb, capsys):
    with pytest.raises(SystemExit) as ended:
        main([verb, '--help'])
    assert ended.value.code == 0 and verbs()[verb][:20] in capsys.readouterr().out
