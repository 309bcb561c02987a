"""Every strategy by its name."""

from __future__ import annotations

from whence.errors import UsageError
from whence.ports import Strategy
from whence.search.auto import Auto
from whence.search.biased_divide_and_query import BiasedDivideAndQuery
from whence.search.combination import Combination
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

_ALL: tuple[Strategy, ...] = (
    Auto(),
    OptimalDivideAndQuery(),
    DivideAndQuery(),
    DivideAndQueryShapiro(),
    BiasedDivideAndQuery(),
    DivideByYesAndQuery(),
    Middleweight(),
    TopDown(),
    TopDownZooming(),
    ExceptionZooming(),
    HeaviestFirst(),
    LessYesFirst(),
    MostRulesFirst(),
    HatDelta(),
    HatDelta(Heuristic.NO, "hat-delta-no"),
    HatDelta(Heuristic.PROPORTION, "hat-delta-proportion"),
    SubtermTracking(),
    SubtermTracking("subterm-tracking-top-down", chain_search=ChainSearch.TOP_DOWN),
    SubtermTracking("subterm-tracking-bisect", chain_search=ChainSearch.BISECT),
    DynamicWeighting(),
    DynamicWeighting("dynamic-weighting-nearest", nearest=True),
    Combination(),
    Combination(plain_sum=True, name="combination-sum"),
    Switching(),
    SingleStepping(),
)

STRATEGIES: dict[str, Strategy] = {each.name: each for each in _ALL}


def describe(strategy: Strategy) -> str:
    """One line on what a strategy does."""
    return (strategy.__doc__ or "").strip().splitlines()[0]


def find_strategy(name: str) -> Strategy:
    """The strategy with this name, or with the only name that starts so.

    `middleweight:5` is Mercury's strategy with a step size of 5.
    """
    wanted = name.strip().lower().replace("_", "-").replace(" ", "-")
    base, _, parameter = wanted.partition(":")
    if parameter and base == "middleweight" and parameter.isdigit() and int(parameter) > 0:
        return Middleweight(step=int(parameter), name=wanted)
    if wanted in STRATEGIES:
        return STRATEGIES[wanted]
    fitting = [known for known in STRATEGIES if known.startswith(wanted)] if wanted else []
    if len(fitting) == 1:
        return STRATEGIES[fitting[0]]
    if fitting:
        raise UsageError(f"{name!r} may be {', '.join(fitting)}: write more of the name")
    raise UsageError(f"there is no strategy {name!r}; there is {', '.join(STRATEGIES)}")
