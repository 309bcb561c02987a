"""Settings with sections, defaults and references to other settings."""
import re

REFERENCE = re.compile(r"\$\{(?:(\w+):)?(\w+)\}")


def strip_comment(line):
    return re.split(r"\s[#;]", line, maxsplit=1)[0].strip()


def parse(text):
    sections = {"default": {}}
    current = sections["default"]
    for line in map(strip_comment, text.splitlines()):
        if not line or line[0] in "#;":
            continue
        if line.startswith("[") and line.endswith("]"):
            current = sections.setdefault(line[1:-1], {})
            continue
        name, sign, value = line.partition("=")
        if not sign:
            raise ValueError(f"not a setting: {line!r}")
        current[name.strip().lower()] = value.strip()
    return sections


def lookup(sections, section, name):
    for place in (section, "default"):
        if name in sections.get(place, {}):
            return resolve(sections, place, sections[place][name])
    raise KeyError(f"{section}.{name}")


def resolve(sections, section, value):
    def put(found):
        other, name = found.groups()
        return lookup(sections, other or section, name)

    return REFERENCE.sub(put, value)


def as_flag(text):
    return text.lower() in {"1", "yes", "true", "on"}


def describe(sections, section):
    names = sorted({**sections["default"], **sections[section]})
    return {name: lookup(sections, section, name) for name in names}


TEXT = """
root = /srv
debug = off
[web]
port = 8080
files = ${root}/www   ; static ones
[jobs]
folder = ${web:files}/jobs
debug = on
[web]
url = http://localhost:${port}
[default]
owner = www
"""


def main():
    sections = parse(TEXT)
    for section in ("web", "jobs"):
        for name, value in describe(sections, section).items():
            print(f"{section}.{name} = {value}")
    print(as_flag(lookup(sections, "jobs", "debug")))


if __name__ == "__main__":
    main()
