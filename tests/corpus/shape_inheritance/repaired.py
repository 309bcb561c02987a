"""Areas of the parts of a floor plan."""
import math


class Shape:
    def __init__(self, name):
        self.name = name

    def area(self):
        raise NotImplementedError

    def scale(self, factor):
        raise NotImplementedError

    def cost(self, price):
        return round(self.area() * price, 2)

    def label(self):
        return f"{type(self).__name__.lower()} {self.name}"


class Rectangle(Shape):
    def __init__(self, name, width, height):
        super().__init__(name)
        self.width = width
        self.height = height

    def area(self):
        return self.width * self.height

    def scale(self, factor):
        self.width *= factor
        self.height *= factor


class Square(Rectangle):
    def __init__(self, name, side):
        super().__init__(name, side, side)

    def scale(self, factor):
        super().scale(factor)
        self.width = round(self.width, 3)


class Circle(Shape):
    def __init__(self, name, radius):
        super().__init__(name)
        self.radius = radius

    def area(self):
        return math.pi * self.radius ** 2

    def scale(self, factor):
        self.radius *= factor


def plan():
    return [Rectangle("hall", 4, 6), Square("kitchen", 3), Circle("bay", 1.5), Square("bath", 2)]


def enlarge(shapes, factor):
    for shape in shapes:
        shape.scale(factor)
    return shapes


def total(shapes, price):
    return round(sum(shape.cost(price) for shape in shapes), 2)


def main():
    shapes = plan()
    print("as drawn", total(shapes, 20))
    enlarge(shapes, 1.5)
    for shape in shapes:
        print(f"{shape.label():<20}{shape.area():>8.2f}")
    print("enlarged", total(shapes, 20))


if __name__ == "__main__":
    main()
