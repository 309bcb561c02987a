"""What a week of parcels costs: 4 up to 500 grams, else 5 and 2 for each kilogram begun.

Monday should cost 13 and Tuesday 20. It prints less.
"""


def kilograms_begun(grams):
    return grams // 1000


def price(grams):
    if grams <= 500:
        return 4
    return 5 + 2 * kilograms_begun(grams)


def cost(parcels):
    total = 0
    for grams in parcels:
        total += price(grams)
    return total


def week(days):
    return {day: cost(parcels) for day, parcels in days.items()}


print(week({"Monday": [300, 1500], "Tuesday": [2000, 450, 700]}))
