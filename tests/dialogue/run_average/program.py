"""The example of section 5.3 of MacLarty, Somogyi & Brown, Divide-and-Query and Subterm
Dependency Tracking in the Mercury Declarative Debugger. The average should be 3.5."""


def average(numbers, total, count):
    if not numbers:
        return total / float(count + 1)
    return average(numbers[1:], total + numbers[0], count + 1)


print(average([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 0.0, 0))
