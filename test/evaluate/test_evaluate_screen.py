from oxygen_ros.cli.evaluate import screen


def test_where_every_bag_failed_only_the_reasons_are_shown():
    assert screen({'modes': {}, 'bags': [{'path': 'x', 'error': 'bag x does not exist'}]}) == \
        'FAILED x: bag x does not exist'
