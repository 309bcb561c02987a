"""Finds when a tank that fills and leaks holds a wanted amount."""


class NoRoot(ValueError):
    pass


def level(time, inflow=3.0, leak=0.1):
    amount = 0.0
    for _ in range(time):
        amount = amount + inflow - leak * amount
    return amount


def gap(wanted):
    def difference(time):
        return level(time) - wanted

    return difference


def bracket(function, start, step, most):
    """Two neighbouring points between which the sign changes."""
    low = start
    while low < most:
        high = low + step
        if function(low) * function(high) <= 0:
            return low, high
        low = high
    raise NoRoot(f"no change of sign up to {most}")


def bisect(function, low, high):
    """The first point at which the function is not negative."""
    while high - low > 1:
        middle = (low + high) // 2
        if function(middle) < 0:
            low = middle
        else:
            high = middle
    return low if function(low) >= 0 else high


def when(wanted):
    function = gap(wanted)
    low, high = bracket(function, 0, 4, 64)
    return bisect(function, low, high)


def answers(amounts):
    lines = []
    for wanted in amounts:
        try:
            lines.append(f"{wanted:>5} after {when(wanted)}")
        except NoRoot as problem:
            lines.append(f"{wanted:>5} never ({problem})")
    return lines


def main():
    print("\n".join(answers([5.0, level(8), 20.0, 30.0])))


if __name__ == "__main__":
    main()
