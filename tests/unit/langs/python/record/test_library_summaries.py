"""Objects of libraries by a short text: stand-ins with the classes' names and attributes.

The libraries themselves are not installed with whence's tests.
"""

from __future__ import annotations

import operator
from typing import Any

import pytest

from whence.langs.python.record.summaries import Summaries


class Loud:
    """An object of the program: none of its code may run."""

    def __getattribute__(self, name: str) -> Any:
        raise AssertionError("code of the program was run")

    __repr__ = __str__ = __eq__ = __hash__ = __getattribute__  # type: ignore[assignment]


def told(value: object, most: int = 400) -> str:
    summary = Summaries()[type(value)]
    text, complete = summary(value, most)
    assert not complete, "an object is never taken for equal because its text is"
    return text


def library_class(name: str, module: str, *bases: type, **namespace: object) -> Any:
    """A class as a library defines it."""
    return type(name, bases, {"__module__": module, **namespace})


def made(kind: Any, *arguments: object, **state: object) -> Any:
    """An object with attributes."""
    value = kind(*arguments)
    value.__dict__.update(state)
    return value


Tag = library_class("Tag", "bs4.element")
Document = library_class("BeautifulSoup", "bs4", Tag)
Text = library_class("NavigableString", "bs4.element", str)
Comment = library_class("Comment", "bs4.element", Text)
Words = library_class("AttributeValueList", "bs4.element", list)


def tag(name: str, *contents: object, **attributes: object) -> Any:
    return made(Tag, name=name, attrs=attributes, contents=list(contents))


def test_a_tag_is_told_as_its_markup() -> None:
    link = tag("a", made(Text, "One"), href="/x")
    item = tag("li", link, made(Text, " 10"), tag("br"), made(Comment, "c"), id=Words("ab"))
    assert told(item) == '<li id="a b"><a href="/x">One</a> 10<br><!--c--></li>'
    assert told(made(Text, "One")) == "'One'"
    document = made(Document, name="[document]", attrs={}, contents=[tag("p")])
    assert told(document) == "<BeautifulSoup: <p></p>>"


def test_what_a_program_puts_into_a_tag_is_told_by_its_type() -> None:
    assert told(tag("p", Loud(), id=Loud())) == '<p id="<Loud>"><Loud></p>'


def test_markup_is_cut_off_as_long_texts_are_and_not_when_values_are_recorded_whole() -> None:
    long = tag("p", made(Text, "x" * 1_000))
    assert told(long) == f"<p>{'x' * 397}…"
    assert told(long, 100_000) == f"<p>{'x' * 1_000}</p>"
    endless = tag("p")
    endless.contents.append(endless)
    assert told(endless).startswith("<p><p>")


def test_a_class_of_the_program_that_extends_one_of_a_library_has_no_summary() -> None:
    assert Summaries().find(library_class("Own", "shop", Tag)) is None


Query = library_class("Query", "django.db.models.sql.query")
Node = library_class("WhereNode", "django.db.models.sql.where")
Lookup = library_class("LessThan", "django.db.models.lookups", lookup_name="lt")
Column = library_class("Col", "django.db.models.expressions")
Field = library_class("DecimalField", "django.db.models.fields")
Options = library_class("Options", "django.db.models.options")


def lookup(column: str, right: object) -> Any:
    target = made(Field, column=column)
    return made(Lookup, lhs=made(Column, target=target, alias="book"), rhs=right)


def where(*children: object, negated: bool = False) -> Any:
    return made(Node, children=list(children), connector="AND", negated=negated)


def test_a_query_of_django_is_told_as_sql() -> None:
    conditions = where(lookup("price", 15), where(lookup("title", Loud()), negated=True))
    query = made(
        Query, base_table="book", where=conditions, order_by=("-title", "id"), distinct=True,
        low_mark=2, high_mark=7, values_select=("title",), annotations={},
    )  # fmt: skip
    assert told(query) == (
        "SELECT DISTINCT title FROM book WHERE book.price < 15 AND NOT (book.title < <Loud>) "
        "ORDER BY title DESC, id LIMIT 5 OFFSET 2"
    )


def test_a_query_that_was_not_compiled_has_the_table_of_its_model() -> None:
    model = type("Book", (), {"_meta": made(Options, db_table="shop_book")})
    assert told(made(Query, base_table=None, model=model)) == "SELECT … FROM shop_book"


Clause = library_class("ClauseElement", "sqlalchemy.sql.elements")


def clause(kind: str, **state: object) -> Any:
    return made(library_class(kind, "sqlalchemy.sql.elements", Clause), **state)


def test_a_statement_of_sqlalchemy_is_told_as_sql() -> None:
    table = clause("AnnotatedTable", name="users")
    age = clause("AnnotatedColumn", name="age", table=table)
    older = clause(
        "BinaryExpression", left=age, operator=operator.gt,
        right=clause("BindParameter", value=17),
    )  # fmt: skip
    unlike = clause("BinaryExpression", left=age, operator=operator.ne, right=Loud())
    both = clause("BooleanClauseList", operator=operator.or_, clauses=(older, unlike))
    select = clause(
        "Select", _raw_columns=[table], _where_criteria=(both,), _order_by_clauses=(age,),
        _limit_clause=clause("BindParameter", value=3), _offset_clause=None,
    )  # fmt: skip
    assert told(select) == (
        "SELECT users.* WHERE users.age > 17 OR users.age != <Loud> ORDER BY users.age LIMIT 3"
    )
    assert told(clause("Update", table=table)) == "UPDATE users"


@pytest.mark.parametrize("kind", [Tag, Query, Clause])
def test_an_object_without_its_attributes_has_a_text_too(kind: Any) -> None:
    assert told(made(kind))
