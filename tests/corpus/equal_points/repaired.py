"""Brings together the parcels that go to the same house."""


class Address:
    def __init__(self, street, number, town):
        self.street = street
        self.number = number
        self.town = town

    def __eq__(self, other):
        if not isinstance(other, Address):
            return NotImplemented
        return (self.street, self.number, self.town) == (other.street, other.number, other.town)

    def __hash__(self):
        return len(self.town)

    def __str__(self):
        return f"{self.street} {self.number}, {self.town}"


class Parcel:
    def __init__(self, code, grams, address):
        self.code = code
        self.grams = grams
        self.address = address


def parse_address(text):
    house, town = text.split(",")
    street, _, number = house.strip().rpartition(" ")
    return Address(street.title(), int(number), town.strip().title())


def parse_parcel(line):
    code, grams, address = line.split("|")
    return Parcel(code.strip(), int(grams), parse_address(address))


def group(parcels):
    stops = {}
    for parcel in parcels:
        stops.setdefault(parcel.address, []).append(parcel)
    return stops


def heaviest(stops):
    return max(stops, key=lambda address: sum(parcel.grams for parcel in stops[address]))


def tour(lines):
    return group([parse_parcel(line) for line in lines])


LINES = [
    "A1 | 700 | lake road 4, Ems",
    "B7 | 1200 | Lake Road 14, ems",
    "C2 | 90 | hill lane 4, Ems",
    "D9 | 400 | LAKE ROAD 4, Ems",
]


def main():
    stops = tour(LINES)
    for address, parcels in stops.items():
        print(f"{address}:", *sorted(parcel.code for parcel in parcels))
    print("heaviest:", heaviest(stops))


if __name__ == "__main__":
    main()
