"""Every strategy by its name."""

from __future__ import annotations

from difflib import get_close_matches

from whence.errors import UsageError
from whence.ports import Strategy
from whence.search.auto import Auto
from whence.search.biased_divide_and_query import BiasedDivideAndQuery
from whence.search.combination import Combination
from whence.search.dds import Dds
from whence.search.divide_and_query import DivideAndQuery, DivideAndQueryShapiro
from whence.search.divide_by_yes_and_query import DivideByYesAndQuery
from whence.search.dynamic_weighting import DynamicWeighting
from whence.search.exception_zooming import ExceptionZooming
from whence.search.hat_delta import HatDelta, Heuristic
from whence.search.heaviest_first import HeaviestFirst
from whence.search.less_yes_first import LessYesFirst, MostRulesFirst
from whence.search.middleweight import Middleweight
from whence.search.optimal_divide_and_query import OptimalDivideAndQuery
from whence.search.single_stepping import SingleStepping
from whence.search.subterm_tracking import ChainSearch, SubtermTracking
from whence.search.switching import Switching
from whence.search.top_down import TopDown
from whence.search.top_down_zooming import TopDownZooming

DEFAULT = "auto"

_ALL: tuple[tuple[Strategy, str], ...] = (
    (Auto(), "the most information for the least effort; follows marks"),
    (OptimalDivideAndQuery(), "the call that splits the other suspects most evenly"),
    (DivideAndQuery(), "the call nearest to half of the suspects (Hirunkitti)"),
    (DivideAndQueryShapiro(), "the heaviest call of at most half of the suspects"),
    (BiasedDivideAndQuery(), "halves the calls that calls make, not the calls"),
    (DivideByYesAndQuery(), "halves what was not judged right before"),
    (Middleweight(), "down the heaviest calls to half of the weight (Mercury); takes :STEPS"),
    (TopDown(), "the calls that the last wrong call made, in order"),
    (TopDownZooming(), "top-down, recursive calls first"),
    (ExceptionZooming(), "top-down, calls that raised first"),
    (HeaviestFirst(), "top-down, the call with the most suspects below it first"),
    (LessYesFirst(), "top-down, what was judged right least often first"),
    (MostRulesFirst(), "top-down, the call with the most rules below it first"),
    (HatDelta(), "the rule that was judged right least often"),
    (HatDelta(Heuristic.NO, "hat-delta-no"), "the rule that was judged wrong most often"),
    (
        HatDelta(Heuristic.PROPORTION, "hat-delta-proportion"),
        "the rule with the largest share of wrong answers",
    ),
    (SubtermTracking(), "follows a mark from where the part was made; else top-down"),
    (
        SubtermTracking("subterm-tracking-top-down", chain_search=ChainSearch.TOP_DOWN),
        "the same; if that call is right, on from the mark downwards (Mercury)",
    ),
    (
        SubtermTracking("subterm-tracking-bisect", chain_search=ChainSearch.BISECT),
        "the same; if that call is right, on by halves (Mercury)",
    ),
    (DynamicWeighting(), "the call to which marks give the most weight"),
    (
        DynamicWeighting("dynamic-weighting-nearest", nearest=True),
        "the same; of equals the nearest to where the part was made",
    ),
    (Combination(), "six weights, each breaking the ties of the one before"),
    (Combination(plain_sum=True, name="combination-sum"), "the sum of the six weights"),
    (Dds(), "function by function as the text calls them; all calls of one are shown (DDS)"),
    (Switching(), "heaviest first in shallow trees, divide and query in deep ones"),
    (SingleStepping(), "bottom-up, a call after all that it called"),
)

STRATEGIES: dict[str, Strategy] = {strategy.name: strategy for strategy, _ in _ALL}
DESCRIPTIONS: dict[str, str] = {strategy.name: text for strategy, text in _ALL}
_MOST_STEPS = 4


def register_strategy(strategy: Strategy, description: str = "") -> None:
    """Let sessions of this process use a strategy by its name."""
    name = strategy.name
    if name in {known.name for known, _ in _ALL} or spelled(name) != name:
        raise UsageError(
            f"{name!r} cannot be the name of a strategy: it is taken, or not in lower case with "
            "hyphens"
        )
    STRATEGIES[name] = strategy
    DESCRIPTIONS[name] = description or "registered by a program"


def spelled(name: str) -> str:
    """A name as strategies are named."""
    return name.strip().lower().replace("_", "-").replace(" ", "-")


def find_strategy(name: str) -> Strategy:
    """The strategy with this name, or with the only name that starts so.

    `middleweight:5` is Mercury's strategy with a step size of 5.
    """
    wanted = spelled(name)
    base, _, parameter = wanted.partition(":")
    number = parameter.isascii() and parameter.isdecimal() and len(parameter) <= _MOST_STEPS
    if base == "middleweight" and number and int(parameter) > 0:
        return Middleweight(step=int(parameter), name=wanted)
    if wanted in STRATEGIES:
        return STRATEGIES[wanted]
    fitting = (
        [candidate for candidate in STRATEGIES if candidate.startswith(wanted)] if wanted else []
    )
    if len(fitting) == 1:
        return STRATEGIES[fitting[0]]
    if fitting:
        raise UsageError(f"{name!r} may be {', '.join(fitting)}: write more of the name")
    near = get_close_matches(wanted, STRATEGIES, n=3)
    hint = f"did you mean {' or '.join(near)}? " if near else ""
    raise UsageError(f"there is no strategy {name!r}; {hint}`whence strategies` lists them")
