"""A parser from PyPI as user code: sqlparse."""

import sqlparse

PACKAGES = ("sqlparse",)
STATEMENT = (
    "select a.id, b.name, count(*) as n from orders a left join people b on a.person = b.id "
    "where a.total > 100 and b.name like 'x%' group by a.id, b.name having count(*) > 3 "
    "order by n desc limit 10;"
)


def run():
    return [sqlparse.format(STATEMENT, reindent=True, keyword_case="upper") for _ in range(15)]
