"""
Say what a checkpoint is, which profile fits it, and what will not work.

Reads every tensor once (`--quick`: the headers only). Exit status 0 if the node would run it, else 1.
"""
from pathlib import Path


def add_arguments(parser):
    parser.add_argument('path', help='folder or file of the weights; nano: those of the package')
    parser.add_argument('--profile', default='', help='profile (YAML file or shipped name); default: profile.yaml '
                        'beside the weights, else every shipped one is tried')
    parser.add_argument('--tokenizer', default='', help='SentencePiece model or folder; default: beside the weights')
    parser.add_argument('--quick', action='store_true', help='do not read the tensors themselves')


def run(arguments):
    report = Report()
    if arguments.path == 'nano':
        from oxygen_ros.build import NANO
        arguments.path = str(NANO)
    try:
        examine(arguments, report)
    except (ValueError, OSError) as error:
        report.problem(error)
    for problem in report.problems:
        print(f'will not run: {problem}')
    if not report.problems:
        print('will run')
    return 1 if report.problems else 0


class Report:
    """Prints facts as they are found and collects what stands against running it."""

    def __init__(self):
        self.problems = []

    def fact(self, name, value):
        print(f'{name + ":":<12}{value}', flush=True)

    def problem(self, sentence):
        self.problems.append(str(sentence))


def examine(arguments, report):
    from oxygen_ros.model.checkpoint import head_differs, open_checkpoint, read_tensors
    opened = open_checkpoint(arguments.path)
    report.fact('weights', f'{opened.folder}')
    report.fact('layout', opened.layout)
    count = sum(number(stored.shape) for stored in opened.tensors.values())
    report.fact('size', f'{count / 1e6:.1f} M numbers in {len(opened.tensors)} tensors, '
                f'{opened.bytes / 1e9:.2f} GB of {" and ".join(opened.dtypes)}')
    if opened.dropped:
        report.fact('left out', f'{", ".join(opened.dropped)} (the expert never uses it)')
    model = matching_model(opened, report)
    for line in companions(arguments.path, report):
        report.fact(*line)
    profiles = fitting_profiles(arguments, model, report)
    for profile in profiles[:1]:
        tokenizer(arguments, profile.model, report)
    if arguments.quick:
        report.fact('tensors', 'not read (--quick)')
        return
    try:
        for _ in read_tensors(opened):
            pass
        differs = head_differs(opened)
        report.fact('tensors', 'all finite' + ('; embedding and language head differ, text uses the head' if differs
                                               else ''))
    except ValueError as error:
        report.problem(error)


def number(shape):
    product = 1
    for n in shape:
        product *= n
    return product


def matching_model(opened, report):
    """Name of the model whose tensors the file has; '' with a problem if none."""
    from oxygen_ros.model.checkpoint import check_tensors
    from oxygen_ros.model.config import CONFIGS
    reasons = {}
    for name, config in CONFIGS.items():
        try:
            check_tensors(opened, config)
            report.fact('model', name)
            return name
        except ValueError as error:
            reasons[name] = str(error)
    # the sizes of the file decide which model's complaint is worth reading
    width = opened.tensors['time_mlp_in.weight'].shape[0] if 'time_mlp_in.weight' in opened.tensors else 0
    near = [name for name, config in CONFIGS.items() if config.expert_width == width]
    name = near[0] if near else 'pi05'
    report.problem(f'not a complete {name}: {reasons[name]}')
    return ''


def companions(path, report):
    """Lines about config.json and statistics; problems are reported."""
    from oxygen_ros.profile.beside import read_facts, read_found_statistics
    try:
        facts = read_facts(path)
        yield 'config', facts.source
        for name, value in (('chunk', facts.chunk_horizon and f'{facts.chunk_horizon} steps'),
                            ('state', facts.state_size and f'{facts.state_size} numbers'),
                            ('actions', facts.action_size and f'{facts.action_size} numbers'),
                            ('cameras', ', '.join(facts.cameras))):
            if value:
                yield name, value
    except ValueError as error:
        report.problem(error)
    try:
        found = read_found_statistics(path)
        yield 'statistics', found.source if found else 'none beside the weights'
    except ValueError as error:
        yield 'statistics', f'none that can be used ({error})'


def fitting_profiles(arguments, model, report):
    """Profiles that can be used: the one named, the one beside the weights, or all shipped ones that agree."""
    from oxygen_ros.profile.beside import profile_beside
    from oxygen_ros.profile.load import profile_names
    from oxygen_ros.profile.policy import profile_for
    beside = profile_beside(arguments.path)
    source = arguments.profile or (str(beside) if beside else '')
    fitting, reasons = [], []
    for name in [source] if source else profile_names():
        try:
            profile = profile_for(name, arguments.path)
            if model and profile.model != model:
                raise ValueError(f'profile {profile.name} is for the model {profile.model}, these weights are {model}')
            fitting.append(profile)
        except (ValueError, OSError) as error:
            reasons.append((name, error))
    if fitting and source:
        report.fact('profile', describe(fitting[0]))
    elif fitting:
        report.fact('profiles', f'{", ".join(p.name for p in fitting)} agree with the files; choose the one it was '
                    'trained for with --profile')
    elif source:
        report.problem(reasons[0][1])
    else:
        for name, error in reasons:
            report.fact(f'not {name}', error)
        report.problem('no shipped profile fits; write one (see config/profiles/) and give it with --profile')
    return fitting


def describe(profile):
    return (f'{profile.name}: {", ".join(profile.views)}; {len(profile.joints)} joints; {profile.action_kind.value}, '
            f'{profile.chunk_horizon} steps of {profile.dt_s:.4g} s; {profile.normalisation.value}; '
            f'{profile.prefix_mask.value} prefix; state {"in" if profile.state_in_prompt else "not in"} the prompt')


def tokenizer(arguments, model, report):
    from oxygen_ros.profile.tokenizer import find_tokenizer
    try:
        found = find_tokenizer(model, arguments.tokenizer, Path(arguments.path))
        report.fact('tokenizer', f'{found.path}, {found.size} pieces')
    except (ValueError, OSError) as error:
        report.problem(error)
