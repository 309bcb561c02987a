"""The diagnosis as one HTML file: nothing is loaded from elsewhere, everything is escaped.

It holds no script, so that a text of the debugged program cannot become one.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from whence.model.diagnosis import Diagnosis
from whence.report.explanation import Explanation, explain, short_equation
from whence.report.findings import NOT_ASKED, Findings
from whence.report.source import Block, Sources
from whence.session.state import State
from whence.tree.readable_call import readable_call

_MOST_SOURCE = 400
_ANSWERS = 200

_STYLE = """
:root { color-scheme: light dark; --ink: #1c1c1c; --paper: #fff; --quiet: #666; --line: #ddd;
  --fault: #b00020; --code: #f5f5f3; --ran: #fff3c4; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e6e6; --paper: #181818; --quiet: #9a9a9a;
  --line: #3a3a3a; --fault: #ff7a85; --code: #222; --ran: #4a4020; } }
body { color: var(--ink); background: var(--paper); font: 16px/1.5 system-ui, sans-serif;
  max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.35rem; color: var(--fault); overflow-wrap: anywhere; }
h2 { font-size: 1rem; margin: 1.5rem 0 .3rem; }
pre, code, td { font: 14px/1.45 ui-monospace, Consolas, monospace; }
pre { background: var(--code); padding: .7rem; overflow-x: auto; border-radius: 4px; }
pre span { display: block; white-space: pre; min-height: 1.45em; }
pre .ran { background: var(--ran); }
pre b { font-weight: normal; color: var(--quiet); user-select: none; }
ul { margin: 0; padding-left: 1.2rem; }
li, td, th { overflow-wrap: anywhere; vertical-align: top; }
table { border-collapse: collapse; width: 100%; }
td, th { border-top: 1px solid var(--line); padding: .25rem .5rem .25rem 0; text-align: left; }
td + td, th + th { overflow-wrap: normal; min-width: 4.5rem; }
@media (max-width: 40rem) {
  th { display: none; }
  td { display: block; border: 0; padding: 0; }
  td + td { display: inline-block; color: var(--quiet); padding-right: .7rem; }
  tr { display: block; border-top: 1px solid var(--line); padding: .4rem 0; }
}
.quiet { color: var(--quiet); }
"""


def page(
    state: State,
    diagnosis: Diagnosis,
    sources: Sources,
    *,
    asked: str,
    test: str = "",
    findings: Findings = NOT_ASKED,
    inside: tuple[State, Diagnosis] | None = None,
) -> str:
    """The whole file.

    `asked` says how much was asked of whom; `test` is a regression test; `inside` is a session
    about the steps of the call at fault.
    """
    parts = explain(state, diagnosis, sources, findings)
    title = "<h2>A test that fails until the fault is fixed</h2>"
    shown_test = [f"{title}\n<pre>{_text(test)}</pre>"] if test else []
    body = "\n".join([
        *_body(parts),
        *(() if inside is None else _body(explain(*inside, sources), level=2)),
        *shown_test,
        *_answers(state, asked),
    ])  # fmt: skip
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_text(parts.headline)}</title>\n<style>{_STYLE}</style>\n</head>\n"
        f"<body>\n{body}\n</body>\n</html>\n"
    )


def _text(text: str) -> str:
    """The text, safe between tags; what no document may contain is spelt out."""
    shown = "".join(c if c.isprintable() or c in "\n\t" else f"\\u{ord(c):04x}" for c in text)
    return escape(shown)


def _body(parts: Explanation, level: int = 1) -> Iterator[str]:
    inner = f"h{level + 1}"
    yield f"<h{level}>{_text(parts.headline)}</h{level}>"
    for sentence in parts.sentences:
        yield f"<p>{_text(sentence)}</p>"
    if parts.source is not None:
        yield from _source(parts.source)
        if parts.no_lines:
            yield f'<p class="quiet">Which lines ran is not known: {_text(parts.no_lines)}.</p>'
    elif parts.no_source:
        yield f'<p class="quiet">{_text(parts.no_source)}</p>'
    for label, items in parts.rows:
        yield f"<{inner}>{_text(label)}</{inner}>\n<ul>"
        yield from (f"<li><code>{_text(item)}</code></li>" for item in items)
        yield "</ul>"
    if parts.doubts:
        yield f"<{inner}>Doubts</{inner}>\n<ul>"
        yield from (f"<li>{_text(doubt)}</li>" for doubt in parts.doubts)
        yield "</ul>"


def _source(block: Block) -> Iterator[str]:
    out = []
    for number, line in block.shown_lines(_MOST_SOURCE):
        ran = block.executed is not None and number in block.executed
        label = f"<b>{number or '':>5}  </b>" if block.first is not None else ""
        out.append(f"<span{' class=ran' if ran else ''}>{label}{_text(line)}</span>")
    yield f"<pre>{''.join(out)}</pre>"
    if block.changed:
        yield '<p class="quiet">The file was changed after the recording.</p>'


def _answers(state: State, asked: str) -> Iterator[str]:
    answers = state.facts.answers
    yield f'<h2>What was answered</h2>\n<p class="quiet">{_text(asked)}</p>'
    if not answers:
        return
    yield "<table>\n<tr><th>call</th><th>is</th><th>said by</th></tr>"
    for answer in answers[:_ANSWERS]:
        call, _ = readable_call(state.tree, state.tree.position(answer.node))
        said = answer.verdict.value + (f" at {answer.mark}" if answer.mark else "")
        if answer.expected is not None:
            said += f", should be {answer.expected}"
        why = f": {answer.reason}" if answer.reason else ""
        cells = (f"{answer.node}: {short_equation(call)}", said, answer.by + why)
        yield "<tr>" + "".join(f"<td>{_text(cell)}</td>" for cell in cells) + "</tr>"
    yield "</table>"
    if len(answers) > _ANSWERS:
        yield f'<p class="quiet">… and {len(answers) - _ANSWERS} more</p>'
