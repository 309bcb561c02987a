import sqlparse

QUERIES = [
    "select a, b as c, count(*) from t1 join t2 on t1.id = t2.id where x > 3 and y in (1,2) group by a order by b desc limit 5",
    "insert into logs (id, msg) values (1, 'it''s'), (2, null); -- done\nupdate t set a=a+1 where b between 1 and 2;",
    "create table if not exists foo (id int primary key, name varchar(20) default 'x')",
    "select case when a = 1 then 'x' else \"y\" end from (select * from s) q /* note */ union select 1",
]
for query in QUERIES:
    print(sqlparse.format(query, reindent=True, keyword_case="upper", identifier_case="lower"))
    print(sqlparse.format(query, strip_comments=True, strip_whitespace=True, truncate_strings=5))
    for statement in sqlparse.parse(query):
        print(statement.get_type(), [token.ttype and str(token.ttype) for token in statement.tokens][:6])
print(sqlparse.split(";".join(QUERIES[1:3])))
print(sqlparse.format(QUERIES[0], reindent_aligned=True))
print(sqlparse.format("select a,b from t where a=1", use_space_around_operators=True, comma_first=True, reindent=True, wrap_after=4))
