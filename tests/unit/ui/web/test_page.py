"""Whole sessions on the page, in a real browser: by mouse, by keyboard, in two tabs, after a kill.

`WHENCE_SCREENSHOTS=docs/images` writes the pictures of docs/web.md.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from browser import Served, Tab, chromium, need_browser, served

CHROMIUM = need_browser()
EXAMPLES = Path(__file__).parents[4] / "examples"
FAULT = "The fault is in merge"


@pytest.fixture(scope="module")
def environment(tmp_path_factory) -> dict[str, str]:
    """The environment of one user, who has no earlier sessions."""
    home = tmp_path_factory.mktemp("home")
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith("WHENCE")},
        "XDG_STATE_HOME": str(home / "state"),
        "XDG_CACHE_HOME": str(home / "cache"),
        "PYTHONIOENCODING": "utf-8",
    }


@pytest.fixture(scope="module")
def recording(tmp_path_factory, environment) -> Path:
    """The recording of the example, in a folder with its program."""
    folder: Path = tmp_path_factory.mktemp("orders")
    shutil.copy(EXAMPLES / "orders.py", folder)
    command = [sys.executable, "-m", "whence", "record", "-q", "-o", "orders.whence", "orders.py"]
    subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
    return folder / "orders.whence"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """One browser for all tests."""
    with chromium(CHROMIUM) as browser:
        yield browser


@pytest.fixture
def opened(browser, environment) -> Iterator[Callable[..., tuple[Served, Tab]]]:
    """Serves a command and opens its page in a browser that knows nothing yet."""
    with ExitStack() as resources:
        tabs: list[Tab] = []

        def open_page(folder: Path, *words: str, **settings: Any) -> tuple[Served, Tab]:
            server = resources.enter_context(served([*words, "--no-open"], folder, environment))
            context = browser.new_context(
                **{"viewport": {"width": 1280, "height": 800}, "color_scheme": "light"} | settings
            )
            resources.callback(context.close)
            tabs.append(Tab(context.new_page()))
            return server, tabs[-1].open(server.address)

        yield open_page
        for tab in tabs:
            assert tab.problems == []


@pytest.fixture
def session(opened, recording, tmp_path) -> Callable[..., tuple[Served, Tab]]:
    """A fresh session about the example."""

    def begin(*words: str, **settings: Any) -> tuple[Served, Tab]:
        folder = tmp_path / "run"
        if not folder.exists():
            shutil.copytree(recording.parent, folder)
        file = ("--session", "session.jsonl")
        both: tuple[Served, Tab]
        both = opened(folder, "web", recording.name, *file, *words, **settings)
        return both

    return begin


def test_a_session_by_mouse_finds_the_fault(session):
    server, tab = session("--wrong", "output:1")
    assert "token" not in tab.page.url
    tab.see("Question 1")
    tab.see("parse", "#question")
    tab.click("#question button.right")
    tab.see("Question 2")
    assert "total(" in tab.page.inner_text("#spoken")
    tab.click("#question button.bad")
    tab.see("Question 3")
    tab.click("#question button.wrong")
    tab.see(FAULT)
    assert "{**basket, **items}" in tab.text("#question")
    tab.click("text=Regression test")
    tab.see("A test that fails until the fault is fixed")
    assert "def test_" in tab.text("#extra")
    with tab.page.expect_download() as download:
        tab.click("text=Save the report")
    report = Path(download.value.path()).read_text()
    assert FAULT in report
    assert "<script" not in report
    tab.click("#finish")
    tab.page.click("dialog button[value=finish]")
    tab.see("The session is over")
    code, printed = server.end()
    assert code == 0
    assert FAULT in printed


def test_a_session_by_keyboard_alone_marks_a_part_and_follows_it(session):
    _, tab = session("--wrong", "output:1", "--rerun")
    tab.see("Question 1")
    tab.press("y")
    tab.see("Question 2")
    tab.press("i")
    tab.see("Question 3")
    tab.press("p", "ArrowDown", "ArrowDown", "ArrowDown", "ArrowDown")
    focused = tab.page.evaluate("document.activeElement.dataset.path")
    assert focused.startswith(("basket", "items"))
    tab.page.focus(tab.part("result['pen']"))
    tab.press("Enter")
    tab.see("Marked: result['pen']")
    tab.press("w")
    tab.see("It was made here")
    made = tab.text("#side")
    assert "int(count)" in made
    assert "parse_items" in made
    assert "It passed through" in made
    assert "A step back" in made
    tab.press("n")
    tab.page.wait_for_selector("#question .banner >> text=result['pen']")
    assert "said by person" not in tab.text("#question")
    tab.press("u")
    tab.see("Question 3")


@pytest.mark.soak
def test_clicked_calls_are_opened_and_judged_out_of_turn(session):
    _, tab = session("--wrong", "output:1")
    tab.see("Question 1")
    tab.click_call("basket_of")
    tab.see("basket_of", "#question")
    tab.see("It called", "#question")
    tab.click("#question button.wrong")
    tab.see("merge", "#question")
    assert tab.page.inner_text("#progress").startswith("2 suspects")
    tab.press("g", "ArrowDown", "ArrowRight", "Enter")
    assert "Call" in tab.text("#question h2") or "Question" in tab.text("#question h2")
    tab.press("Escape", "Escape")
    tab.click_call("parse", count=2)
    tab.see("⟵ out", "#run")
    tab.click("text=⟵ out")
    tab.page.fill("#run input[type=search]", "merge")
    tab.page.press("#run input[type=search]", "Enter")
    tab.see("list 4 calls", "#run")


@pytest.mark.soak
def test_the_outline_and_the_table_say_the_same_as_the_picture(session):
    _, tab = session("--wrong", "output:1")
    tab.click("#tab-outline")
    tab.page.focus("[role=tree] [tabindex='0']")
    tab.press("ArrowDown", "ArrowRight", "ArrowDown", "ArrowRight", "ArrowDown")
    assert "parse(" in tab.page.evaluate("document.activeElement.innerText")
    tab.press("Enter")
    tab.see("parse", "#question")
    tab.click("#tab-functions")
    tab.click("#run >> text=merge")
    tab.see("called by", "#run")
    tab.see("basket_of", "#run")
    tab.page.click("#run [aria-label^='Wrong: call'] >> nth=1")
    tab.see(FAULT)


@pytest.mark.soak
def test_an_answer_is_taken_back_and_revised(session):
    _, tab = session("--wrong", "output:1")
    tab.press("y", "i")
    tab.see("Question 3")
    tab.press("u")
    tab.see("Question 2")
    tab.press("r")
    tab.see("Question 3")
    tab.click("#tab-answers")
    tab.see("said by person", "#side")
    tab.page.select_option("#side .answer:has-text('parse(') select", "wrong")
    tab.settle()
    tab.see("parse_order", "#question")
    assert "wrong" in tab.text("#side")


@pytest.mark.soak
def test_two_tabs_stay_in_step_and_a_late_answer_is_not_taken_for_another_question(session):
    _, tab = session("--wrong", "output:1")
    other = Tab(tab.page.context.new_page()).open(tab.page.url)
    tab.press("y")
    tab.see("Question 2")
    other.see("Question 2")
    # As if this tab had not heard of the other's answer.
    other.page.evaluate("window.whence.session.revision -= 1")
    other.page.keyboard.press("n")
    other.see("moved on")
    assert "Question 2" in other.text("#question")
    other.page.reload()
    other.see("Question 2")
    assert [problem for problem in other.problems if "409" not in problem] == []


@pytest.mark.soak
def test_a_killed_server_loses_nothing(session):
    server, tab = session("--wrong", "output:1")
    tab.press("y")
    tab.see("Question 2")
    server.end(signal.SIGKILL)
    tab.page.wait_for_selector("#notice >> text=Start it again with whence web")
    tab.page.keyboard.press("n")
    tab.page.wait_for_selector("#notice >> text=your answers are kept")
    tab.page.close()
    tab.problems.clear()  # the browser says that it could not reach the server
    _, again = session()
    again.see("Question 2")
    again.click("#tab-answers")
    again.see("parse(", "#side")


@pytest.mark.soak
def test_what_is_wrong_is_asked_on_the_page(session):
    _, tab = session()
    tab.see("What is wrong?")
    tab.click("text=Ben")
    tab.see("Question 1")
    assert "Line 2 was printed" in tab.text("#question")


@pytest.mark.soak
def test_a_run_can_be_looked_at_without_questions(session):
    _, tab = session("--browse")
    tab.see("Look around")
    tab.click_call("merge")
    tab.see("Call ", "#question")
    assert tab.page.query_selector(".verdicts") is None
    tab.page.keyboard.press("n")
    tab.page.click(tab.part("result['pen']"))
    tab.press("w")
    tab.see("Run the program again to find out")


def test_names_and_values_of_a_program_are_only_text(opened, environment, tmp_path):
    evil = "<img src=x onerror=alert(1)></script><script>alert(2)</script>"
    program = (
        f"def show(text, more):\n    return text + {evil!r}\n\n"
        f"show('\\u202e\\x1b[31m{evil}', ['javascript:alert(3)', '&lt;b&gt;'])\nprint({evil!r})\n"
    )
    (tmp_path / "evil.py").write_text(program)
    command = [sys.executable, "-m", "whence", "record", "-q", "-o", "evil.whence", "evil.py"]
    subprocess.run(command, cwd=tmp_path, env=environment, check=True, stdout=subprocess.DEVNULL)
    _, tab = opened(tmp_path, "web", "evil.whence")
    tab.page.on("dialog", lambda dialog: tab.problems.append("a script of the program ran"))
    assert evil in tab.text("#question")
    tab.click("#question ol button")
    tab.click_call("show")
    shown = tab.text("#question")
    assert evil in shown
    assert "\\u202e" in shown
    assert "\u202e" not in tab.page.content()
    assert "\x1b" not in shown
    assert tab.page.query_selector("#question img, #question script, #question a") is None
    tab.click("#tab-outline")
    assert "onerror" in tab.text("#side")


@pytest.mark.soak
@pytest.mark.skipif(shutil.which("swipl") is None, reason="swipl is not installed")
def test_a_prolog_session(opened, tmp_path):
    (tmp_path / "family.pl").write_text(
        "parent(ann, bob).\nparent(bob, cid).\nparent(cid, dora).\n"
        "ancestor(X, Y) :- parent(X, Y).\nancestor(X, Z) :- parent(X, Y), parent(Y, Z).\n"
    )
    _, tab = opened(
        tmp_path, "prolog", "family.pl", "ancestor(ann, X)", "--missing", "--web",
        "--session", "session.jsonl",
    )  # fmt: skip
    tab.see("Question 1")
    asked = tab.text("#question")
    assert "parent(" in asked or "ancestor(" in asked
    for _ in range(4):
        if tab.page.query_selector("#diagnosis"):
            break
        tab.press("y")
    tab.see("The fault is in ancestor/2")
    tab.click_call("parent/2")
    tab.see("parent(", "#question")


@pytest.mark.soak
def test_the_call_at_fault_is_looked_into_by_its_statements(session):
    _, tab = session("--wrong", "output:1", "--rerun")
    tab.press("y", "i", "n")
    tab.see(FAULT)
    tab.click("text=Look inside this call")
    tab.see("Back to the whole run", "#bar")
    assert "merge" in tab.text("#question") or "line" in tab.text("#question")
    tab.click("text=Back to the whole run")
    tab.see(FAULT)


@pytest.mark.soak
def test_a_file_that_was_changed_and_a_recording_that_is_gone_are_told(session, tmp_path):
    _, tab = session("--wrong", "output:1")
    folder = tmp_path / "run"
    source = folder / "orders.py"
    source.write_text(source.read_text() + "# changed\n")
    (folder / "orders.whence").unlink()
    tab.page.reload()
    tab.see("Question 1")
    tab.see("This file was changed after the run", "#side")
    tab.press("y")
    tab.see("Question 2")


@pytest.mark.soak
def test_a_failing_test_opens_the_page(opened, environment, tmp_path):
    shutil.copytree(EXAMPLES / "shop", tmp_path / "shop")
    _, tab = opened(tmp_path / "shop", "test", "--web", "-p", "no:cacheprovider", "-q")
    assert tab.text("#question h2").startswith(("Question", "Which side"))


@pytest.mark.soak
def test_pytest_opens_the_page_for_the_first_failing_test(browser, environment, tmp_path):
    shutil.copytree(EXAMPLES / "shop", tmp_path / "shop")
    command = ("-m", "pytest", "--whence=web", "-p", "no:cacheprovider", "-q", "test_shop.py")
    quietly = {**environment, "BROWSER": "/bin/true"}
    with served(command, tmp_path / "shop", quietly) as server:
        tab = Tab(browser.new_page()).open(server.address)
        assert tab.text("#question h2").startswith(("Question", "Which side"))
        tab.page.close()
    assert "recorded" in "".join(server.lines)


# --- how it looks, and to whom -------------------------------------------------------------------


def violations(tab: Tab) -> list[str]:
    """The serious violations of accessibility that axe-core finds on the page as it is now."""
    axe = pytest.importorskip("axe_playwright_python.base", reason="axe-core is missing")
    tab.settle()
    tab.page.evaluate(axe.AXE_FILE_PATH.read_text())
    found = tab.page.evaluate("axe.run(document)")["violations"]
    return [
        f"{one['id']}: {node['html'][:120]}"
        for one in found
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"]
    ]


@pytest.mark.soak
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_screen_has_a_serious_violation_of_accessibility(session, scheme):
    _, tab = session("--rerun", color_scheme=scheme)
    found = {"symptom": violations(tab)}
    tab.click("text=Ada")
    tab.see("Question 1")
    tab.press("y", "i")
    found["question"] = violations(tab)
    tab.click(tab.part("result['pen']"))
    tab.press("w")
    tab.see("It was made here")
    found["origin"] = violations(tab)
    tab.click("#tab-answers")
    tab.click("#tab-outline")
    found["outline"] = violations(tab)
    tab.click("#tab-functions")
    found["functions"] = violations(tab)
    tab.click("#run >> text=price")
    found["calls of a function"] = violations(tab)
    tab.press("Escape", "n")
    tab.see(FAULT)
    tab.click("text=Regression test")
    found["diagnosis"] = violations(tab)
    tab.press("h")
    found["keys"] = violations(tab)
    assert {screen: list_ for screen, list_ in found.items() if list_} == {}


@pytest.mark.soak
@pytest.mark.parametrize("width", [360, 1280, 2560])
def test_nothing_is_wider_than_the_screen(session, width):
    _, tab = session("--wrong", "output:1", "--rerun", viewport={"width": width, "height": 800})
    tab.see("Question 1")
    tab.press("y", "i")
    tab.see("Question 3")
    tab.click(tab.part("result['pen']"))
    tab.press("w")
    tab.see("It was made here")
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= width
    folder = os.environ.get("WHENCE_SCREENSHOTS")
    if folder is None:
        return
    to = Path(folder)
    if width == 360:
        tab.page.evaluate("scrollTo(0, 0)")
        tab.page.screenshot(path=to / "web-telephone.png")
    if width == 1280:
        tab.page.screenshot(path=to / "web-origin.png")
        tab.press("Escape", "n")
        tab.page.emulate_media(color_scheme="dark")
        tab.see(FAULT)
        tab.page.screenshot(path=to / "web-diagnosis.png")
