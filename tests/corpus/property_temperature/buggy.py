"""A heating that is set in one unit and watched in another."""


class Temperature:
    def __init__(self, celsius=0.0):
        self._celsius = celsius

    @property
    def celsius(self):
        return self._celsius

    @celsius.setter
    def celsius(self, value):
        if value < -273.15:
            raise ValueError("colder than possible")
        self._celsius = round(value, 1)

    @property
    def fahrenheit(self):
        return round(self._celsius * 9 / 5 + 32, 1)

    @fahrenheit.setter
    def fahrenheit(self, value):
        self.celsius = (value + 32) * 5 / 9


class Heating:
    def __init__(self, wanted, slack=0.5):
        self.wanted = wanted
        self.slack = slack
        self.on = False

    def step(self, measured):
        if measured.celsius < self.wanted.celsius - self.slack:
            self.on = True
        elif measured.celsius > self.wanted.celsius + self.slack:
            self.on = False
        return self.on


def read(text):
    temperature = Temperature()
    number, unit = float(text[:-1]), text[-1]
    if unit == "F":
        temperature.fahrenheit = number
    else:
        temperature.celsius = number
    return temperature


def simulate(heating, texts):
    states = []
    for text in texts:
        measured = read(text)
        states.append((measured.celsius, measured.fahrenheit, heating.step(measured)))
    return states


def main():
    heating = Heating(read("20C"))
    for celsius, fahrenheit, on in simulate(heating, ["18.2C", "66F", "70.5F", "20.9C", "19C"]):
        print(f"{celsius:>6} C {fahrenheit:>6} F", "on" if on else "off")


if __name__ == "__main__":
    main()
