"""Why the arm must stand still: reasons add up, and none is left while its cause lasts."""
from oxygen_ros.control.stops import Stops

S = 10**9


def of(timeout_s=0.0):
    told = []
    stops = Stops(told.append)
    stops.heartbeat.set(timeout_s)
    return stops, told


def test_every_new_reason_is_told_and_kept_until_resume():
    stops, told = of()
    stops.stop('stopped by service')
    stops.stop('stopped by service')
    stops.press(True)
    assert told == ['stopped by service', 'emergency stop'] and stops.reason == '; '.join(told)
    stops.press(False)
    assert stops.reason == '; '.join(told) and stops.refusal(0) == ''
    stops.resume()
    assert stops.reason == ''
    stops.press(True)
    assert told[2:] == ['emergency stop']


def test_a_pressed_button_and_a_deaf_node_speak_against_going_on():
    stops, _ = of()
    stops.press(True)
    assert 'still pressed' in stops.refusal(0)
    stops.press(False)
    stops.hear('it cannot be heard')
    assert stops.reason == 'emergency stop; it cannot be heard' and stops.refusal(0) == 'it cannot be heard'
    stops.hear('')
    assert stops.reason and not stops.refusal(0)


def test_a_heart_has_its_time_from_the_beginning_and_then_must_beat():
    stops, told = of(0.5)
    stops.begin(10 * S)
    stops.watch(10 * S + S // 2)
    assert not told
    stops.watch(11 * S)
    assert told == ['no heartbeat for 0.5 s'] and 'still missing' in stops.refusal(11 * S)
    stops.begin(12 * S)  # another activation is no heartbeat
    assert 'still missing' in stops.refusal(12 * S)
    stops.heartbeat.feed(12 * S)
    assert not stops.refusal(12 * S) and stops.reason


def test_a_heart_that_never_beat_is_missing_after_another_stop_too():
    stops, _ = of(0.5)
    stops.press(True)
    stops.begin(10 * S)
    stops.press(False)
    assert 'still missing' in stops.refusal(10 * S)


def test_an_unwatched_heart_stops_nothing():
    stops, told = of()
    stops.watch(100 * S)
    assert not told and not stops.refusal(100 * S)
