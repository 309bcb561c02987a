from shop import receipt


def test_two_pens_and_a_lamp():
    bought = receipt("2 pen 1.20\n1 lamp 24.5")
    assert bought["total"] == 2690
