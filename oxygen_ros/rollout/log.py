"""Episodes as lines of JSON, so that a run that was stopped goes on where it was."""
from dataclasses import asdict
import json

from oxygen_ros.rollout.scores import Episode


class EpisodeLog:
    """
    The episodes of one run with `settings`, which are the first line of the file.

    ValueError where the file is of a run with others.
    """

    def __init__(self, path, settings):
        self.path = path
        self.episodes = {}  # seed -> Episode
        settings = json.loads(json.dumps(settings))
        lines = path.read_text().splitlines(keepends=True) if path.exists() else []
        if lines and not lines[-1].endswith('\n'):  # the run was stopped while it wrote
            path.write_text(''.join(lines := lines[:-1]))
        if not lines:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(settings) + '\n')
        elif json.loads(lines[0]) != settings:
            found = json.loads(lines[0])
            other = [f'{name} {found.get(name)!r}, now {settings.get(name)!r}' for name in {**found, **settings}
                     if found.get(name) != settings.get(name)]
            raise ValueError(f'{path} is of another run ({"; ".join(other)}): delete it or name another folder')
        for line in lines[1:]:
            episode = read(json.loads(line))
            self.episodes[episode.seed] = episode

    def add(self, episode):
        """Keep an episode, at once."""
        self.episodes[episode.seed] = episode
        fields = asdict(episode)
        del fields['commands']
        with self.path.open('a') as file:
            file.write(json.dumps(fields) + '\n')


def read(fields):
    """The Episode of one line."""
    fields['answers'] = tuple((kind, right) for kind, right in fields['answers'])
    for name in ('jerk', 'place_errors_mm', 'frame_ms'):
        fields[name] = tuple(fields[name])
    return Episode(**fields)
