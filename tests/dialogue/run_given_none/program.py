"""Greets members by their names. Some have none, and nobody asks."""


def name_of(members, number):
    return members.get(number)


def greeting(word, name):
    return f"{word}, {name.title()}!"


def welcome(members, number):
    name = name_of(members, number)
    return greeting("Welcome", name)


print(welcome({1: "ada", 2: "bob"}, 3))
