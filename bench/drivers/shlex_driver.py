import io
import shlex

for text in ("ls -l 'a b' \"c d\" e\\ f", "x='1'\"2\"3 # note", "a;b&&c|d > e", "", "'open", "esc\\"):
    for options in ({}, {"comments": True}, {"posix": False}):
        try:
            print(shlex.split(text, **options))
        except ValueError as problem:
            print(problem)
    try:
        print(list(shlex.shlex(text, punctuation_chars=True)), shlex.quote(text))
    except ValueError as problem:
        print(problem)
lexer = shlex.shlex(io.StringIO("one two\nthree"), "file", posix=True)
lexer.push_token("zero")
print([lexer.get_token() for _ in range(3)], lexer.error_leader(), lexer.lineno)
print(shlex.join(["a b", "c", "d'e"]))
