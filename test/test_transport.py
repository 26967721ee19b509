from xml.etree import ElementTree

from oxygen_ros import transport


def test_an_empty_environment_gets_the_shipped_profile_and_this_machine_alone():
    environment = {}
    transport.configure(environment)
    assert environment.pop('ROS_AUTOMATIC_DISCOVERY_RANGE') == 'LOCALHOST'
    (name, path), = environment.items()
    assert name in (transport.OLD, transport.NEW)
    segment = ElementTree.parse(path).find('.//{*}segment_size')
    assert int(segment.text) >= 8 * 640 * 480 * 3


def test_what_the_user_has_set_stays():
    for name in (transport.OLD, transport.NEW):
        environment = {name: '/etc/mine.xml', 'ROS_AUTOMATIC_DISCOVERY_RANGE': 'SUBNET'}
        before = dict(environment)
        transport.configure(environment)
        assert environment == before
    environment = {'ROS_LOCALHOST_ONLY': '1', 'RMW_IMPLEMENTATION': 'rmw_cyclonedds_cpp'}
    before = dict(environment)
    transport.configure(environment)
    assert environment == before


def test_discovery_is_left_alone_where_asked():
    environment = {'RMW_IMPLEMENTATION': 'rmw_fastrtps_cpp'}
    transport.configure(environment, discovery=False)
    assert 'ROS_AUTOMATIC_DISCOVERY_RANGE' not in environment and len(environment) == 2


def test_fast_dds_2_is_told_by_its_library(tmp_path):
    (tmp_path / 'lib').mkdir()
    (tmp_path / 'lib' / 'libfastrtps.so.2.14').touch()
    assert transport.profiles_variable({'AMENT_PREFIX_PATH': str(tmp_path)}) == transport.OLD
