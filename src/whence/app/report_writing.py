"""The end of every command that diagnoses: the report in its form, and the regression test."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

from whence.app.session_driver import SessionDriver
from whence.app.session_request import SessionRequest
from whence.errors import WhenceError
from whence.model.diagnosis import Diagnosis, Status
from whence.report.findings import NOT_ASKED, Findings
from whence.report.html import page
from whence.report.record import record
from whence.report.regression_test import write_test
from whence.report.text import lines
from whence.session.reaction import react
from whence.session.state import State
from whence.user_folders import write_private_file


def write_report(
    request: SessionRequest,
    driver: SessionDriver,
    diagnosis: Diagnosis,
    note: Callable[[str], None],
) -> None:
    """Write what the options ask for, apart from what the session has shown."""
    state, sources = driver.state, driver.sources
    findings = driver.findings(diagnosis)
    inside = _inside(driver)
    if request.format == "json":
        report = record_of(driver, diagnosis, findings)
        if inside is not None and driver.inside is not None:
            report["zoom"] = record_of(driver.inside, inside[1])
        plain = request.output is None and (sys.stdout.encoding or "").lower() != "utf-8"
        _write(request.output, json.dumps(report, ensure_ascii=plain, indent=1) + "\n")
    elif request.format == "html":
        _write(request.output, html_report(driver, diagnosis, findings))
    elif request.output is not None:
        text_lines = lines(state, diagnosis, sources, findings)
        if inside is not None:
            text_lines += ["", *lines(*inside, sources)]
        _write(request.output, "\n".join(text_lines) + "\n")
    if request.regression_test is not None:
        note(_written_test(request.regression_test, driver, diagnosis))


def html_report(
    driver: SessionDriver, diagnosis: Diagnosis, findings: Findings | None = None
) -> str:
    """The report as one HTML file."""
    counts = driver.counts
    return page(
        driver.state,
        diagnosis,
        driver.sources,
        asked=f"{counts.person} answered by a person, {counts.oracles.total()} by others",
        test=_test_text(driver, diagnosis),
        findings=driver.findings(diagnosis) if findings is None else findings,
        inside=_inside(driver),
    )


def _inside(driver: SessionDriver) -> tuple[State, Diagnosis] | None:
    """The session inside the call at fault and how it stands, if one was held."""
    inner = driver.inside
    return None if inner is None else (inner.state, inner.diagnosis(react(inner.state)))


def record_of(
    driver: SessionDriver, diagnosis: Diagnosis, findings: Findings = NOT_ASKED
) -> dict[str, object]:
    """The object that `--format json` writes of a session."""
    counts = driver.counts
    return record(
        driver.state,
        diagnosis,
        person=counts.person,
        oracles=counts.oracles,
        characters=counts.characters,
        sources=driver.sources,
        findings=findings,
    )


def _test_text(driver: SessionDriver, diagnosis: Diagnosis) -> str:
    try:
        return driver.regression_test(diagnosis).text
    except WhenceError:
        return ""


def _written_test(file: str, driver: SessionDriver, diagnosis: Diagnosis) -> str:
    if diagnosis.status is not Status.FOUND:
        return "No regression test was written: no call was found to be at fault."
    path = Path(file) if file else None
    try:
        return write_test(driver.regression_test(diagnosis, path))
    except WhenceError as problem:
        return f"No regression test was written: {problem}."


def check_output(path: Path | None) -> None:
    """Refuse a file that cannot be written, before any question is asked."""
    if path is None:
        return
    if path.is_dir():
        raise WhenceError(f"{path}: the diagnosis cannot be written there, it is a directory")
    if not path.parent.is_dir():
        raise WhenceError(
            f"{path}: the diagnosis cannot be written there, {path.parent} is no directory"
        )


def _write(path: Path | None, text: str) -> None:
    if path is None:
        sys.stdout.write(text)
        return
    try:
        write_private_file(path, text)
    except OSError as problem:
        raise WhenceError(
            f"{path}: the diagnosis cannot be written ({problem.strerror})"
        ) from problem
