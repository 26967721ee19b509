"""A websocket client sees topics with their definitions and gets the bytes, and only those it asks for."""
import json
import struct
import threading
import time

import pytest
import rclpy
from rclpy.executors import SingleThreadedExecutor

from oxygen_ros.msg import LanguageToken

pytest.importorskip('foxglove', reason='foxglove-sdk, the optional extra of the bridge')
client = pytest.importorskip('websockets.sync.client', reason='websockets, the client of this test')


def test_a_client_without_ros_reads_tokens_by_the_definition_it_was_sent():
    from rosbags.typesys import get_types_from_msg, get_typestore, Stores

    from oxygen_ros.viz.foxglove_bridge import FoxgloveBridge
    rclpy.init()
    node, executor = rclpy.create_node('bench'), SingleThreadedExecutor()
    executor.add_node(node)
    tokens = node.create_publisher(LanguageToken, 'oxygen/language/tokens', 10)
    bridge = FoxgloveBridge(node, port=0)
    stop = threading.Event()

    def spin():
        while not stop.is_set():
            executor.spin_once(timeout_sec=0.05)
    thread = threading.Thread(target=spin)
    thread.start()
    try:
        with client.connect(f'ws://127.0.0.1:{bridge.port}', subprotocols=['foxglove.sdk.v1'], max_size=None) as socket:
            channels = {}
            while '/oxygen/language/tokens' not in channels:
                message = socket.recv(timeout=15)
                if isinstance(message, str) and json.loads(message)['op'] == 'advertise':
                    channels.update({channel['topic']: channel for channel in json.loads(message)['channels']})
            channel = channels['/oxygen/language/tokens']
            assert (channel['encoding'], channel['schemaEncoding']) == ('cdr', 'ros2msg')
            assert not tokens.get_subscription_count()
            socket.send(json.dumps({'op': 'subscribe', 'subscriptions': [{'id': 7, 'channelId': channel['id']}]}))
            end = time.monotonic() + 40
            while not tokens.get_subscription_count() and time.monotonic() < end:
                time.sleep(0.05)
            tokens.publish(LanguageToken(request_id=3, text='grüner Würfel', task='answer'))
            data = next(m for m in iter(lambda: socket.recv(timeout=15), None) if not isinstance(m, str) and m[0] == 1)
            assert struct.unpack('<I', data[1:5]) == (7,)
            store = get_typestore(Stores.EMPTY)
            store.register(get_types_from_msg(channel['schema'], channel['schemaName']))
            message = store.deserialize_cdr(data[13:], channel['schemaName'])
            assert (message.request_id, message.text, message.task) == (3, 'grüner Würfel', 'answer')
        end = time.monotonic() + 40
        while tokens.get_subscription_count() and time.monotonic() < end:
            time.sleep(0.05)
        assert not tokens.get_subscription_count()  # nobody looks any more
    finally:
        stop.set()
        thread.join()
        bridge.close()
        node.destroy_node()
        rclpy.shutdown()
