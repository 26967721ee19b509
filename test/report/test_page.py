"""The page in a real browser: it draws, complains about nothing, and runs nothing that came with the data."""
import re
import shutil
import subprocess

from bag_of_a_run import Scribe, write_run
import numpy as np
import pytest

from oxygen_ros.bag.read import Bag
from oxygen_ros.report.build import build_report, report_of_bag
from oxygen_ros.report.from_bag import run_from_bag
from oxygen_ros.report.page import Page

BROWSER = next((path for path in map(shutil.which, ('chromium', 'chromium-browser', 'google-chrome')) if path), None)
RESULT = {'frames': 20, 'skipped': {'engine busy': 7}, 'action_mse': 4e-4, 'action_mae': 0.02, 'clamps': 0,
          'per_joint': [{'joint': 'left_waist', 'mse': 4e-4, 'mae': 0.02}], 'boundary_jump_max': 0.01,
          'horizon': [{'step': i, 'mse': 1e-4, 'mae': 0.01 + i / 100, 'n': 20} for i in range(25)],
          'text': {'exact_match': 1.0, 'edit_distance': 0.0}}
EVALUATION = {**RESULT, 'mode': 'oxygen', 'seed': 0, 'timing': {
    'prefill': dict(p50=20, p95=23, p99=23.5), 'isolated.prefill': dict(p50=41, p95=42, p99=43.5)},
              'bags': [{'path': 'good', 'frames': 20}, {'path': 'bad<b>', 'error': 'bag bad is truncated'}],
              'modes': {'oxygen': RESULT, 'isolated': {**RESULT, 'frames': 6, 'skipped': {'no joints': 1}}}}


@pytest.fixture(scope='module')
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp('page')
    with Bag(write_run(folder / 'run')) as bag:
        return build_report(folder / 'report.html', [run_from_bag(bag)], EVALUATION, 'A run <i>of</i> the arm')


def browse(page, *options):
    """Open a page; (document after its scripts ran, what the console said)."""
    done = subprocess.run(
        [BROWSER, '--headless', '--no-sandbox', '--disable-gpu', '--hide-scrollbars', '--enable-logging=stderr',
         '--virtual-time-budget=20000', f'--user-data-dir={page.parent / "profile"}', *options, page.as_uri()],
        capture_output=True, text=True, timeout=120)
    return done.stdout, [line for line in done.stderr.splitlines() if 'CONSOLE' in line]


@pytest.mark.skipif(BROWSER is None, reason='no Chromium or Chrome here')
def test_the_page_draws_every_figure_without_a_word_on_the_console(page):
    document, console = browse(page, '--dump-dom')
    assert not console
    assert re.search(r'data-drawn="5"', document)
    assert document.count('class="main-svg"') >= 5
    assert 'engine busy' in document and '41.0 / 42.0 / 43.5' in document and 'bag bad is truncated' in document


@pytest.mark.skipif(BROWSER is None, reason='no Chromium or Chrome here')
def test_a_broken_figure_would_be_noticed_on_the_console(page, tmp_path):
    broken = tmp_path / 'broken.html'
    broken.write_text(page.read_text().replace('Plotly.newPlot(id', 'Plotly.newPlat(id'))
    assert browse(broken, '--dump-dom')[1]


@pytest.mark.skipif(BROWSER is None, reason='no Chromium or Chrome here')
def test_a_screenshot_shows_curves_in_their_colours(page, tmp_path):
    import cv2
    shot = tmp_path / 'page.png'
    browse(page, f'--screenshot={shot}', '--window-size=1200,4000')
    blue, green, red = cv2.imread(str(shot)).astype(int).transpose(2, 0, 1)
    curves = {'blue': blue - red > 60, 'orange': red - blue > 60, 'green': green - np.maximum(red, blue) > 15}
    assert all(pixels.sum() > 1000 for pixels in curves.values())


def test_texts_from_the_bag_are_shown_and_never_run(page):
    text = page.read_text()
    assert '<b>cube</b>' not in text and '&lt;/script&gt;&lt;b&gt;cube' in text
    assert '<title>A run &lt;i&gt;of&lt;/i&gt; the arm</title>' in text and 'bad<b>' not in text


def test_the_page_needs_nothing_from_outside(page):
    text = page.read_text()
    start, end = text.index('<script>'), text.rindex('</script>')
    assert not re.search(r'(?:src|href)="(?!data:)', text[:start] + text[end:])
    assert "default-src 'none'" in text


def test_data_cannot_end_the_script_that_carries_it():
    import plotly.graph_objects as go
    page = Page('x')
    page.figure(go.Figure(go.Scatter(x=[1], y=[1], name='</script><script>alert(1)</script>')))
    assert 'alert(1)</script>' not in page.text()


def test_the_same_bag_gives_the_same_bytes(tmp_path):
    bag = write_run(tmp_path / 'run', seconds=1.0)
    first, second = (report_of_bag(bag, tmp_path / f'{i}.html').read_bytes() for i in range(2))
    assert first == second


def test_a_bag_of_a_robot_alone_gives_a_page_of_what_is_there(tmp_path):
    with Scribe(tmp_path / 'bag') as scribe:
        scribe.put('/instruction', 0.0, scribe.make('std_msgs/msg/String', data='go'))
    text = report_of_bag(tmp_path / 'bag', tmp_path / 'out.html').read_text()
    assert '1 messages on 1 topics' in text
