import inflection

for word in ("post", "octopus", "sheep", "CamelOctopus", "person", "mouse", "quiz", "status"):
    print(word, inflection.pluralize(word), inflection.singularize(inflection.pluralize(word)))
for text in ("device_type", "Donald E. Knuth", "active_model/errors", "employee_salary", "man from the boondocks"):
    print(inflection.camelize(text), inflection.camelize(text, False), inflection.humanize(text))
    print(inflection.titleize(text), inflection.parameterize(text), inflection.tableize(text))
    print(inflection.underscore(inflection.camelize(text)), inflection.dasherize(text))
for number in (1, 2, 3, 4, 11, 12, 13, 21, 102, 1003, -11, -1021):
    print(inflection.ordinalize(number), inflection.ordinal(number))
print(inflection.transliterate("älämölö"), inflection.parameterize("Ærøskøbing kl. 12", "_"))
