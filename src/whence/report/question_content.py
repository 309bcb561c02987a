"""What a question shows of a call, before anybody lays it out.

The terminal, the page and the session protocol all show a question from here: the call without what
it did not use, the inputs that differ from those of the last judged call, the parts that it
changed, the data that it read, its documentation and the line that made it. Nothing here knows how
wide a screen is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from whence.errors import UsageError
from whence.model.call import Binding, Call, Effect, OutcomeKind, name_references
from whence.model.question import Question
from whence.model.value import Kind, Limits, Steps, is_opaque, names_code, parse_path
from whence.report.changes import Change, changes, equal
from whence.report.raising import own_primitive
from whence.report.relevance import relevant, without_internals
from whence.report.source import Sources
from whence.session.state import State
from whence.tree.readable_call import functions_that_ran, readable_call

ASKED = {
    OutcomeKind.RETURNED: "Right?",
    OutcomeKind.RAISED: "Right to raise that?",
    OutcomeKind.YIELDED: "Right so far?",
    OutcomeKind.NOT_TERMINATED: "Right to call this, and right that it had not ended?",
    OutcomeKind.FAILED: "Nothing missing?",
}
_OBVIOUS = 2
"""It is not said in which of so few inputs a call differs from the last one."""
_SMALL = 60
"""A change of several parts is shown as a whole if that is not longer."""
_WHOLE = Limits(depth=100, parts=10_000, characters=3_000, text=3_000)
_TEXT = re.compile(r"""'[^']*'|"[^"]*\"""")
_PLAIN_CALL = re.compile(r"[\w.]+\([\w\s,=.\-\[\](){}:]*\)")
_INNER_CALL = re.compile(r"[\w\])]\s*[\[(]")
"""A call or an item in the arguments of a call."""


@dataclass(frozen=True, slots=True)
class QuestionContent:
    """All that there is to show of one call."""

    call: Call
    """The call without what it did not use; the steps of its parts are those of the recording."""
    asked: str
    """The question in a few words, which `right` affirms."""
    differing: tuple[str, ...] = ()
    """The inputs that differ from those of the last call of the function that was judged."""
    defaults: frozenset[str] = frozenset()
    """The arguments that are as the function's definition has them."""
    documentation: str = ""
    outline: tuple[str, ...] = ()
    """Of a class body: its attributes and methods."""
    called_as: str = ""
    """The expression that made the call, unless its values say all of it."""
    raised_by: str = ""
    """The operation in the call's own code that raised its exception."""


def question_content(state: State, question: Question, sources: Sources) -> QuestionContent:
    """What a question shows in a session."""
    return call_content(state, question.node, question.call, sources)


def call_content(state: State, node: int, call: Call, sources: Sources) -> QuestionContent:
    """What is shown of any call, whether it is asked about or not."""
    differing = differing_inputs(call, last_judged(state))
    ran = functions_that_ran(state.tree, state.tree.position(node))
    raised = own_primitive(state, node, sources)
    called = sources.called_as(call)
    return QuestionContent(
        name_references(without_internals(relevant(call, sources, ran))),
        asked(call),
        tuple(differing),
        sources.has_default(call) - set(differing),
        sources.summary(call),
        tuple(sources.outline(call)),
        "" if not called or is_plain_call(called) else called,
        "" if raised is None else raised.text,
    )


def asked(call: Call) -> str:
    """What one judges about a call, in a few words."""
    outcome = call.outcome
    return ASKED[OutcomeKind.YIELDED if outcome.was_closed else outcome.kind]


def last_judged(state: State) -> Call | None:
    """The call that was judged last in the dialogue."""
    tree = state.tree
    judged = [answer.node for answer in state.facts.answers if answer.in_dialogue]
    return readable_call(tree, tree.position(judged[-1]))[0] if judged else None


def differing_inputs(call: Call, last: Call | None) -> list[str]:
    """The inputs that differ from those of the last judged call of the function, if not all do.

    With one or two inputs the difference is obvious.
    """
    plain = not call.text and call.step is None
    if last is None or last.function.name != call.function.name or not plain:
        return []
    before = {binding.name: binding.value for binding in (*last.arguments, *last.reads)}
    inputs = [binding for binding in (*call.arguments, *call.reads) if binding.name]
    other = [
        binding.name
        for binding in inputs
        if binding.name not in before or not equal(before[binding.name], binding.value)
    ]
    return other if len(other) < len(inputs) > _OBVIOUS else []


def data_read(call: Call) -> list[Binding]:
    """The state that a call read, without code and without opaque values."""
    return [
        read
        for read in call.reads
        if not (names_code(read.value) or is_opaque(read.value))
        and not (read.name.startswith("__") and read.name.endswith("__"))
    ]


@dataclass(frozen=True, slots=True)
class ChangedPart:
    """A changed part: of which value, and at which place in it."""

    target: str
    change: Change
    holder: str
    step: str

    @property
    def name(self) -> str:
        """Its path."""
        return self.target + "".join(self.change.steps)

    @property
    def is_plain(self) -> bool:
        """Whether it is addressed by its place, so that it can stand under a heading."""
        return self.change.within in (None, Kind.LIST)


def changed_parts(effect: Effect) -> list[ChangedPart]:
    """The parts that differ; the whole instead, if it is small."""
    differences = list(changes(effect.before, effect.after))
    whole = Change((), effect.before, effect.after)
    if len(differences) > 1 and len(whole.words(effect.target, _WHOLE)) <= _SMALL:
        differences = [whole]
    parts = []
    for change in differences:
        *above, step = (*_path(effect.target), *change.steps)
        parts.append(ChangedPart(effect.target, change, "".join(above), step))
    return parts


def _path(target: str) -> Steps:
    """The root and the steps that a target names, as far as it is a path."""
    try:
        root, steps = parse_path(target)
    except UsageError:
        return (target,)
    return (root, *steps)


def is_plain_call(called: str) -> bool:
    """Whether the expression of a call has only variables and literals, which its values show."""
    called = _TEXT.sub("0", called)
    given = called[called.find("(") + 1 :]
    return bool(_PLAIN_CALL.fullmatch(called)) and not _INNER_CALL.search(given)


def unseen_targets(effects: Sequence[Effect]) -> list[str]:
    """What changed in a part that was not recorded."""
    unseen: list[str] = []
    for effect in effects:
        parts = changed_parts(effect)
        unseen += [part.name for part in parts if part.change.is_unseen()]
        unseen += [] if parts else [effect.target]
    return unseen
