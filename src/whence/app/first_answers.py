"""Finds the symptom of a recorded run: on the command line, in a file, or by asking a person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from whence.errors import WhenceError
from whence.model.diagnosis import Diagnosis, Status
from whence.model.symptom import Symptom, SymptomKind
from whence.model.verdict import Answer
from whence.ports import Opened, RunSymptoms
from whence.session.events import Answered, Event, SymptomTimed
from whence.ui.terminal import symptom_prompt
from whence.ui.terminal.assertion_prompt import Quit, ask_operand
from whence.ui.terminal.loop import LEFT
from whence.ui.terminal.screen import Screen


def first_answers(
    opened: Opened,
    named: Symptom | None,
    screen: Screen,
    *,
    asks: bool,
    fresh: bool = False,
    is_script: bool = False,
) -> Sequence[Event] | Diagnosis:
    """The first events of a session, or why there is nothing to find.

    `named`: the symptom of the command line; `asks`: ask the user if there is none; `fresh`: ask
    again which operand of an assertion is wrong; `is_script`: what a person said in an earlier
    session does not count, so that the first answer always means the same.
    """
    symptoms, columns = opened.symptoms, opened.tree.columns
    if symptoms is None:
        if named is not None:
            raise WhenceError("--wrong is about recordings, and this is a tree")
        return ()
    symptom = named or _stored(symptoms, is_script)
    if len(columns) == 1 and not columns.implicit[0] and asks:
        return Diagnosis(Status.UNDETERMINED, reason=_nothing_recorded(symptoms, screen))
    if symptom is None and asks:
        asked = _ask(symptoms, screen)
        if isinstance(asked, Diagnosis):
            return asked
        symptom = replace(asked, by_person=True)
    if symptom is None:
        return ()
    if symptom.kind is SymptomKind.ASSERTION:
        return _answer_by_assertion(symptoms, symptom, screen, fresh)
    answers, notes = symptoms.first_answers(symptom)
    for note in notes:
        screen.note(note)
    if symptom.kind is SymptomKind.EXCEPTION and symptoms.is_test:
        screen.say("", symptoms.summary().ending)
    store_symptom(symptoms, symptom)
    return symptom_events(symptoms, symptom, answers)


def symptom_events(
    symptoms: RunSymptoms, symptom: Symptom, answers: Sequence[Answer]
) -> list[Event]:
    """What a symptom says of calls, and when it had happened."""
    time = symptoms.time(symptom)
    timed = [] if time is None else [SymptomTimed(time.last_begun, time.is_exact)]
    return [*timed, Answered(tuple(answers))]


def _answer_by_assertion(
    symptoms: RunSymptoms, symptom: Symptom, screen: Screen, fresh: bool
) -> Sequence[Event] | Diagnosis:
    """Ask which operand is wrong, unless that was asked before."""
    failed = symptom.assertion
    is_open = failed is not None and all(operand.wrong is None for operand in failed.operands)
    if failed is not None and (is_open or fresh):
        source, values = symptoms.assertion(symptom)
        try:
            answered = ask_operand(screen, failed, source, list(values))
        except Quit:
            return Diagnosis(Status.UNDETERMINED, reason=LEFT)
        symptom = replace(symptom, assertion=answered or failed)
        store_symptom(symptoms, symptom)
    answers, notes = symptoms.first_answers(symptom)
    for note in notes:
        screen.note(note)
    return symptom_events(symptoms, symptom, answers)


def _ask(symptoms: RunSymptoms, screen: Screen) -> Symptom | Diagnosis:
    """Ask what is wrong; returns a diagnosis if nothing is, or if the user does not say."""
    run = symptoms.summary()
    text = f"{run.ending}\n{run.cycle}"
    try:
        symptom = symptom_prompt.ask(screen, text, run.lines, run.default, symptoms.first_answers)
    except symptom_prompt.NobodySaid:
        if not run.failed:
            reason = "nobody said what is wrong (--wrong does)"
            return Diagnosis(Status.UNDETERMINED, reason=reason)
        symptom = run.default
    return symptom or Diagnosis(Status.NONE, reason="nothing is wrong")


def _nothing_recorded(symptoms: RunSymptoms, screen: Screen) -> str:
    run = symptoms.summary()
    screen.say("", run.ending)
    if run.default is not None and run.default.kind is SymptomKind.NOT_ENDED:
        return "nothing had been recorded by then"
    return (
        "no call of the program's own code was recorded (--user-code makes an installed "
        "package part of it)"
    )


def _stored(symptoms: RunSymptoms, is_script: bool) -> Symptom | None:
    """The symptom beside the recording; for a script only what the run itself left there."""
    symptom = symptoms.stored()
    if symptom is None or not is_script:
        return symptom
    if symptom.assertion is None:
        return None if symptom.by_person else symptom
    operands = tuple(replace(operand, wrong=None) for operand in symptom.assertion.operands)
    return replace(symptom, assertion=replace(symptom.assertion, operands=operands))


def store_symptom(symptoms: RunSymptoms, symptom: Symptom) -> None:
    """Keep a symptom beside its recording."""
    if symptoms.stored() != symptom:
        symptoms.store(symptom)
