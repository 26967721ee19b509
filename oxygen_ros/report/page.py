"""HTML of the page: every text from outside is escaped, every script and picture is inside."""
import base64
from html import escape
import json

from plotly.offline import get_plotlyjs

STYLE = '''
body { font: 15px/1.45 system-ui, sans-serif; color: #1d2530; margin: 0 auto; max-width: 1180px; padding: 0 20px 60px; }
h1 { font-size: 26px; margin: 28px 0 4px; } h2 { font-size: 19px; margin: 34px 0 8px; } .dim { color: #667; }
table { border-collapse: collapse; margin: 10px 0; } th, td { padding: 4px 14px 4px 0; text-align: left; }
td.n { text-align: right; font-variant-numeric: tabular-nums; } tr + tr td { border-top: 1px solid #e3e7ee; }
.facts { display: grid; grid-template-columns: repeat(auto-fill, minmax(250px, 1fr)); gap: 2px 28px; }
.facts div { display: flex; justify-content: space-between; gap: 12px; border-bottom: 1px solid #e3e7ee; }
.facts b { font-weight: 600; font-variant-numeric: tabular-nums; white-space: nowrap; }
.strip { display: flex; overflow-x: auto; gap: 10px; padding-bottom: 10px; align-items: flex-start; }
.card { flex: 0 0 200px; font-size: 13px; } .card img { width: 200px; display: block; border-radius: 4px; }
.card .t { font-weight: 600; margin: 4px 0; } .card p { margin: 2px 0; overflow-wrap: anywhere; }
.task { color: #1f6fd1; } .note { color: #a33; } .wide { overflow-x: auto; }
'''
DRAW = '''
for (const [id, figure] of Object.entries(JSON.parse(document.getElementById('figures').textContent)))
  Plotly.newPlot(id, figure.data, figure.layout, {responsive: true, displaylogo: false});
document.body.dataset.drawn = document.querySelectorAll('.js-plotly-plot').length;
'''


class Page:
    """Collects sections; `text()` gives the finished document."""

    def __init__(self, title, subtitle=''):
        self._title, self._figures = title, {}
        self._parts = [f'<h1>{escape(title)}</h1><p class="dim">{escape(subtitle)}</p>']

    def heading(self, text, below=''):
        self._parts.append(f'<h2>{escape(text)}</h2>' + (f'<p class="dim">{escape(below)}</p>' if below else ''))

    def note(self, text):
        self._parts.append(f'<p class="note">{escape(text)}</p>')

    def table(self, rows, header=()):
        """Rows of texts; what begins with a digit or sign stands right."""
        head = ''.join(f'<th>{escape(str(cell))}</th>' for cell in header)
        body = ''.join('<tr>' + ''.join(self._cell(str(cell)) for cell in row) + '</tr>' for row in rows)
        self._parts.append(f'<div class="wide"><table>{f"<tr>{head}</tr>" if head else ""}{body}</table></div>')

    def facts(self, rows):
        """Names with their values, in as many columns as fit."""
        parts = ''.join(f'<div><span>{escape(str(name))}</span><b>{escape(str(value))}</b></div>'
                        for name, value in rows)
        self._parts.append(f'<div class="facts">{parts}</div>')

    @staticmethod
    def _cell(text):
        number = text[:1].isdigit() or text[:1] == '-'
        return f'<td{" class=n" if number else ""}>{escape(text)}</td>'

    def figure(self, figure):
        """A plotly figure; nothing for None."""
        if figure is not None:
            name = f'figure{len(self._figures)}'
            self._figures[name] = json.loads(figure.to_json())
            height = int(figure.layout.height or 300)
            self._parts.append(f'<div id="{name}" style="height:{height}px"></div>')

    def strip(self, cards):
        """Pictures in a row with what was said from each one to the next: (time s, view, jpeg, [(task, text)])."""
        parts = []
        for time_s, view, jpeg, said in cards:
            picture = base64.b64encode(jpeg).decode()
            lines = ''.join(f'<p><span class="task">{escape(task)}:</span> {escape(text)}</p>' for task, text in said)
            parts.append(f'<div class="card"><img src="data:image/jpeg;base64,{picture}" alt="{escape(view)}">'
                         f'<div class="t">{time_s:.1f} s <span class="dim">{escape(view)}</span></div>{lines}</div>')
        self._parts.append(f'<div class="strip">{"".join(parts)}</div>')

    def text(self):
        # "<" would let a text in the data end the script element.
        data = json.dumps(self._figures, separators=(',', ':'), allow_nan=False).replace('<', '\\u003c')
        return (
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta http-equiv="Content-Security-Policy" '
            "content=\"default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
            'img-src data: blob:">'
            f'<title>{escape(self._title)}</title><link rel="icon" href="data:,">'
            f'<style>{STYLE}</style></head><body>{"".join(self._parts)}'
            f'<script type="application/json" id="figures">{data}</script>'
            f'<script>{get_plotlyjs()}</script><script>{DRAW}</script></body></html>\n')
