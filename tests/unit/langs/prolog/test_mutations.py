"""A program, a slip in it, and a goal whose answers show it: the predicate with the slip is blamed.

The right program is the oracle. So whatever is asked is answered truly, and a wrong blame is a
fault of the evaluation tree.
"""

from pathlib import Path

import pytest
from prolog import need_swipl
from prolog_debugging import debugged
from prolog_marks import debugged_with_marks

from whence.search.registry import DEFAULT

need_swipl()

LISTS = """
app([], L, L).
app([X|Xs], L, [X|Zs]) :- app(Xs, L, Zs).
rev([], []).
rev([X|Xs], R) :- rev(Xs, R0), app(R0, [X], R).
mem(X, [X|_]).
mem(X, [_|Xs]) :- mem(X, Xs).
perm([], []).
perm(L, [X|P]) :- sel(X, L, R), perm(R, P).
sel(X, [X|Xs], Xs).
sel(X, [Y|Xs], [Y|Ys]) :- sel(X, Xs, Ys).
sub([], _).
sub([X|Xs], L) :- mem(X, L), sub(Xs, L).
disjoint(A, B) :- \\+ ( mem(X, A), mem(X, B) ).
ordered([]).
ordered([_]).
ordered([X,Y|L]) :- X =< Y, ordered([Y|L]).
sorted(L, S) :- perm(L, S), ordered(S).
lookup(K, L, V) :- ( mem(K-V0, L) -> V = V0 ; V = none ).
singles(L, S) :- findall(X, ( sel(X, L, R), \\+ mem(X, R) ), S).
doubled(L, D) :- maplist(double, L, D).
double(X, Y) :- Y is 2 * X.
"""
NUMBERS = """
isort([], []).
isort([X|Xs], S) :- isort(Xs, S0), insert(X, S0, S).
insert(X, [], [X]).
insert(X, [Y|Ys], [X,Y|Ys]) :- X =< Y, !.
insert(X, [Y|Ys], [Y|Zs]) :- insert(X, Ys, Zs).
size(N, small) :- low(N), !.
size(N, large) :- high(N), !.
size(_, medium).
low(N) :- N < 10.
high(N) :- N > 100.
fact(0, 1) :- !.
fact(N, F) :- N > 0, M is N - 1, fact(M, G), F is G * N.
range(H, H, [H]) :- !.
range(L, H, [L|R]) :- L < H, M is L + 1, range(M, H, R).
sum([], 0).
sum([X|Xs], S) :- sum(Xs, T), S is T + X.
len([], 0).
len([_|Xs], N) :- len(Xs, M), N is M + 1.
mean(L, M) :- sum(L, S), len(L, N), M is S / N.
queens(N, Qs) :- range(1, N, Ns), place(Ns, [], Qs).
place([], Qs, Qs).
place(Free, Done, Qs) :- pick(Q, Free, Rest), safe(Q, 1, Done), place(Rest, [Q|Done], Qs).
pick(X, [X|Xs], Xs).
pick(X, [Y|Ys], [Y|Zs]) :- pick(X, Ys, Zs).
safe(_, _, []).
safe(Q, D, [P|Ps]) :- Q =\\= P + D, Q =\\= P - D, E is D + 1, safe(Q, E, Ps).
safe_mean(L, M) :- catch(mean(L, M), _, M = none).
either(X, Y) :- ( low(X) ; high(X) ), Y = odd ; between_both(X), Y = even.
between_both(X) :- \\+ low(X), \\+ high(X).
"""
GRAPHS = """
edge(a, b). edge(b, c). edge(c, d). edge(d, a). edge(b, e).
reach(X, Y) :- walk(X, Y, [X]).
walk(X, X, _).
walk(X, Y, Seen) :- edge(X, Z), \\+ seen(Z, Seen), walk(Z, Y, [Z|Seen]).
seen(X, [X|_]) :- !.
seen(X, [_|Xs]) :- seen(X, Xs).
leaf(X) :- node(X), \\+ edge(X, _).
node(X) :- member(X, [a,b,c,d,e]).
degree(X, N) :- aggregate_all(count, edge(X, _), N).
greeting --> hello, name.
hello --> [hello].
hello --> [good, morning].
name --> [ann].
name --> [bob], rest.
rest --> [].
rest --> [and], name.
parse(L) :- phrase(greeting, L).
"""
CONTROL = """
n(1). n(2). n(3). n(4).
even(X) :- 0 is X mod 2.
big(X) :- X > 2.
odd(X) :- n(X), \\+ even(X).
kind(X, K) :- ( even(X) -> K = even ; big(X) -> K = big_odd ; K = odd ).
soft(X, K) :- ( n(X), big(X) *-> K = big ; K = none ).
both(X) :- n(X), ( \\+ even(X) -> big(X) ; \\+ big(X) ).
choose(X, K) :- ( even(X), ! , K = e ; big(X), K = b ; K = o ).
all_even(L) :- forall(member(X, L), even(X)).
evens(L) :- setof(X, ( n(X), even(X) ), L).
first_big(X) :- once(( n(X), big(X) )).
built(X) :- G = ( n(X), \\+ even(X), big(X) ), call(G).
denied(X) :- n(X), G = ( \\+ even(X) ), call(G).
tried(X, R) :- catch(check(X), bad(Y), R = bad(Y)), ( var(R) -> R = fine ; true ).
check(X) :- ( even(X) -> true ; throw(bad(X)) ).
ignoring(X, Y) :- ignore(( big(X), Y = big )), ( var(Y) -> Y = small ; true ).
neither(X) :- n(X), \\+ ( even(X) ; big(X) ).
deep(X) :- n(X), \\+ \\+ even(X), \\+ ( n(Y), Y > X, \\+ big(Y) ).
alt(X) :- ( low(X) ; high(X) ), \\+ even(X).
low(2). high(3).
pair(X, K) :- ( \\+ even(X) -> K = odd ; K = even ).
twice_not(X) :- n(X), \\+ \\+ even(X), big(X).
either(X) :- ( \\+ even(X) ; \\+ big(X), n(X) ).
in_cond(X, K) :- ( n(X), \\+ ( even(X), \\+ big(X) ) -> K = yes ; K = no ).
counted(N) :- aggregate_all(count, ( n(X), \\+ big(X) ), N).
folded(S) :- findall(X, n(X), L), foldl(plus_even, L, 0, S).
plus_even(X, S0, S) :- ( even(X) -> S is S0 + X ; S = S0 ).
"""
MIXED = """
:- use_module(library(yall)).
:- use_module(library(apply)).
price(pen, 2). price(ink, 15). price(pad, 4).
cheap(X) :- price(X, P), P < 10.
cheapest(X) :- price(X, P), \\+ ( price(_, Q), Q < P ).
sum_of(L, S) :- foldl([X,A,B]>>( price(X, P), B is A + P ), L, 0, S).
bought(L, C) :- include(cheap, L, C).
listed(L) :- findall(P-X, price(X, P), Ps), keysort(Ps, S), findall(X, member(_-X, S), L).
known(X, R) :- ( catch(must_know(X), unknown(_), fail) -> R = yes ; R = no ).
must_know(X) :- price(X, _), !.
must_know(X) :- throw(unknown(X)).
safe_price(X, P) :- catch(( must_know(X), price(X, P) ), unknown(Y), default(Y, P)).
default(_, 1).
both(X, Y) :- cheap(X), cheap(Y), X @< Y.
all_cheap(L) :- \\+ ( member(X, L), \\+ cheap(X) ).
grade(P, G) :- ( P < 3 -> G = low ; P < 10 -> G = mid ; G = high ).
graded(X, G) :- price(X, P), grade(P, G).
same_grade(X, Y) :- graded(X, G), graded(Y, G), X \\== Y.
word(W) --> letters(Cs), { atom_codes(W, Cs) }.
letters([C|Cs]) --> letter(C), letters(Cs).
letters([C]) --> letter(C).
letter(C) --> [C], { code_type(C, alpha) }.
words([W|Ws]) --> word(W), ( spaces -> words(Ws) ; { Ws = [] } ).
spaces --> space, spaces.
spaces --> space.
space --> " ".
split(A, Ws) :- atom_codes(A, Cs), once(phrase(words(Ws), Cs)).
tree(nil, _, nil).
insert(nil, X, t(nil, X, nil)).
insert(t(L, Y, R), X, t(L1, Y, R1)) :-
    ( X @< Y -> insert(L, X, L1), R1 = R ; X == Y -> L1 = L, R1 = R ; L1 = L, insert(R, X, R1) ).
build(Xs, T) :- foldl([X,A,B]>>insert(A, X, B), Xs, nil, T).
walk(nil) --> [].
walk(t(L, X, R)) --> walk(L), [X], walk(R).
sorted(Xs, S) :- build(Xs, T), phrase(walk(T), S).
count(X, N) :- ( setof(Y, both(X, Y), L) -> length(L, N) ; N = 0 ).
eval(N, N) :- number(N), !.
eval(A + B, V) :- !, eval(A, X), eval(B, Y), V is X + Y.
eval(A * B, V) :- !, eval(A, X), eval(B, Y), V is X * Y.
eval(if(C, A, B), V) :- !, ( holds(C) -> eval(A, V) ; eval(B, V) ).
holds(A < B) :- eval(A, X), eval(B, Y), X < Y.
solve(true) :- !.
solve((A, B)) :- !, solve(A), solve(B).
solve(not(A)) :- !, \\+ solve(A).
solve(A) :- rule(A, B), solve(B).
rule(likes(ann, X), ( food(X), not(bitter(X)) )).
rule(food(tea), true).
rule(food(jam), true).
rule(bitter(tea), true).
"""
SLIPS = [
    (LISTS, "app(Xs, L, Zs).", "app(L, Xs, Zs).", "app([1,2],[3],X)", "app/3"),
    (LISTS, "app([], L, L).", "app([], _, []).", "rev([1,2,3],X)", "app/3"),
    (LISTS, "rev([X|Xs], R) :- rev(Xs, R0), app(R0, [X], R).",
     "rev([X|Xs], R) :- rev(Xs, R0), app([X], R0, R).", "rev([1,2,3],X)", "rev/2"),
    (LISTS, "mem(X, [_|Xs]) :- mem(X, Xs).", "", "sub([2],[1,2])", "mem/2"),
    (LISTS, "sel(X, [Y|Xs], [Y|Ys]) :- sel(X, Xs, Ys).",
     "sel(X, [_|Xs], Ys) :- sel(X, Xs, Ys).", "sorted([3,1,2],X)", "sel/3"),
    (LISTS, "X =< Y, ordered", "X < Y, ordered", "sorted([2,1,2],X)", "ordered/1"),
    (LISTS, "ordered([_]).", "", "sorted([2,1],X)", "ordered/1"),
    (LISTS, "mem(X, [X|_]).", "mem(X, [_,X|_]).", "disjoint([1,2],[2,1])", "mem/2"),
    (LISTS, "\\+ ( mem(X, A), mem(X, B) )", "\\+ ( mem(X, A), mem(X, A) )",
     "disjoint([1],[2])", "disjoint/2"),
    (LISTS, "mem(X, [X|_]).", "mem(X, [X]).", "lookup(a,[a-1,b-2],V)", "mem/2"),
    (LISTS, "mem(X, [X|_]).", "mem(X, [X]).", "singles([1,2,1,3],S)", "mem/2"),
    (LISTS, "Y is 2 * X", "Y is 2 + X", "doubled([1,2,3],S)", "double/2"),
    (LISTS, "perm(L, [X|P]) :- sel(X, L, R), perm(R, P).",
     "perm(L, [X|P]) :- sel(X, L, R), !, perm(R, P).", "sorted([2,1],X)", "perm/2"),
    (NUMBERS, "X =< Y, !.", "X >= Y, !.", "isort([3,1,2],X)", "insert/3"),
    (NUMBERS, "insert(X, [], [X]).", "", "isort([3,1,2],X)", "insert/3"),
    (NUMBERS, "[Y|Zs]) :- insert(X, Ys, Zs).", "[Y|Zs]) :- insert(Y, Ys, Zs).",
     "isort([3,1,2],X)", "insert/3"),
    (NUMBERS, "low(N) :- N < 10.", "low(N) :- N < 0.", "size(5,X)", "low/1"),
    (NUMBERS, "high(N) :- N > 100.", "high(N) :- N > 10.", "size(50,X)", "high/1"),
    (NUMBERS, "size(N, large) :- high(N), !.", "", "size(500,X)", "size/2"),
    (NUMBERS, "fact(0, 1) :- !.", "fact(0, 0) :- !.", "fact(4,X)", "fact/2"),
    (NUMBERS, "F is G * N", "F is G + N", "fact(4,X)", "fact/2"),
    (NUMBERS, "N is M + 1.", "N is M.", "mean([1,2,3],X)", "len/2"),
    (NUMBERS, "N is M + 1.", "N is M.", "safe_mean([1,2,3],X)", "len/2"),
    (NUMBERS, "S is T + X.", "S is T - X.", "mean([1,2,3],X)", "sum/2"),
    (NUMBERS, "E is D + 1, safe", "E is D, safe", "queens(4,X)", "safe/3"),
    (NUMBERS, "Q =\\= P + D, ", "", "queens(4,X)", "safe/3"),
    (NUMBERS, "L < H, M is L + 1", "L < H, M is L + 2", "queens(5,X)", "range/3"),
    (NUMBERS, "pick(X, [Y|Ys], [Y|Zs]) :- pick(X, Ys, Zs).", "", "queens(4,X)", "pick/3"),
    (NUMBERS, "low(N) :- N < 10.", "low(N) :- N < 0.", "either(5,Y)", "low/1"),
    (NUMBERS, "high(N) :- N > 100.", "high(N) :- N > 1000.", "either(500,Y)", "high/1"),
    (GRAPHS, "edge(c, d). ", "", "reach(a,d)", "edge/2"),
    (GRAPHS, "edge(c, d). ", "edge(c, e). ", "reach(c,X)", "edge/2"),
    (GRAPHS, "\\+ seen(Z, Seen)", "seen(Z, Seen)", "reach(a,X)", "walk/3"),
    (GRAPHS, "seen(X, [_|Xs]) :- seen(X, Xs).", "seen(_, [_|_]).", "reach(a,c)", "seen/2"),
    (GRAPHS, "edge(d, a). ", "", "leaf(X)", "edge/2"),
    (GRAPHS, "[a,b,c,d,e]", "[a,b,c,d]", "leaf(X)", "node/1"),
    (GRAPHS, "edge(b, e).", "", "degree(b,N)", "edge/2"),
    (GRAPHS, "rest --> [and], name.", "rest --> [and], hello.",
     "parse([hello,bob,and,ann])", "rest/2"),
    (GRAPHS, "hello --> [good, morning].", "hello --> [good].", "parse([good,ann])", "hello/2"),
    (CONTROL, "even(X) :- 0 is X mod 2.", "even(X) :- 1 is X mod 2.", "odd(X)", "even/1"),
    (CONTROL, "even(X) :- 0 is X mod 2.", "even(X) :- 1 is X mod 2.", "kind(4,K)", "even/1"),
    (CONTROL, "even(X) :- 0 is X mod 2.", "even(X) :- 1 is X mod 2.", "kind(3,K)", "even/1"),
    (CONTROL, "even(X) :- 0 is X mod 2.", "even(X) :- 1 is X mod 2.", "both(X)", "even/1"),
    (CONTROL, "even(X) :- 0 is X mod 2.", "even(X) :- 1 is X mod 2.", "choose(4,K)", "even/1"),
    (CONTROL, "even(X) :- 0 is X mod 2.", "even(X) :- 1 is X mod 2.", "choose(1,K)", "even/1"),
    (CONTROL, "even(X) :- 0 is X mod 2.", "even(X) :- 1 is X mod 2.", "all_even([2,4])", "even/1"),
    (CONTROL, "even(X) :- 0 is X mod 2.", "even(X) :- 1 is X mod 2.", "all_even([1,3])", "even/1"),
    (CONTROL, "even(X) :- 0 is X mod 2.", "even(X) :- 1 is X mod 2.", "evens(L)", "even/1"),
    (CONTROL, "even(X) :- 0 is X mod 2.", "even(X) :- 1 is X mod 2.", "built(X)", "even/1"),
    (CONTROL, "even(X) :- 0 is X mod 2.", "even(X) :- 1 is X mod 2.", "denied(X)", "even/1"),
    (CONTROL, "even(X) :- 0 is X mod 2.", "even(X) :- 1 is X mod 2.", "tried(2,R)", "even/1"),
    (CONTROL, "even(X) :- 0 is X mod 2.", "even(X) :- 1 is X mod 2.", "tried(1,R)", "even/1"),
    (CONTROL, "even(X) :- 0 is X mod 2.", "even(X) :- 1 is X mod 2.", "neither(X)", "even/1"),
    (CONTROL, "even(X) :- 0 is X mod 2.", "even(X) :- 1 is X mod 2.", "deep(X)", "even/1"),
    (CONTROL, "even(X) :- 0 is X mod 2.", "even(X) :- 1 is X mod 2.", "folded(S)", "even/1"),
    (CONTROL, "big(X) :- X > 2.", "big(X) :- X > 3.", "kind(3,K)", "big/1"),
    (CONTROL, "big(X) :- X > 2.", "big(X) :- X > 3.", "soft(X,K)", "big/1"),
    (CONTROL, "big(X) :- X > 2.", "big(X) :- X > 3.", "both(X)", "big/1"),
    (CONTROL, "big(X) :- X > 2.", "big(X) :- X > 3.", "choose(3,K)", "big/1"),
    (CONTROL, "big(X) :- X > 2.", "big(X) :- X > 3.", "first_big(X)", "big/1"),
    (CONTROL, "big(X) :- X > 2.", "big(X) :- X > 3.", "built(X)", "big/1"),
    (CONTROL, "big(X) :- X > 2.", "big(X) :- X > 3.", "ignoring(3,Y)", "big/1"),
    (CONTROL, "big(X) :- X > 2.", "big(X) :- X > 3.", "neither(X)", "big/1"),
    (CONTROL, "big(X) :- X > 2.", "big(X) :- X > 3.", "deep(X)", "big/1"),
    (CONTROL, "big(X) :- X > 2.", "big(X) :- X > 3.", "counted(N)", "big/1"),
    (CONTROL, "n(3). ", "", "soft(X,K)", "n/1"),
    (CONTROL, "n(3). n(4).", "", "soft(X,K)", "n/1"),
    (CONTROL, "n(2). ", "n(5). ", "deep(X)", "n/1"),
    (CONTROL, "( even(X) ; big(X) )", "( even(X), big(X) )", "neither(X)", "neither/1"),
    (CONTROL, "even(X), ! , K", "even(X), K", "choose(4,K)", "choose/2"),
    (CONTROL, "K = even ; big(X)", "K = even ; even(X)", "kind(3,K)", "kind/2"),
    (CONTROL, "S is S0 + X ; S = S0", "S is S0 + X ; S = 0", "folded(S)", "plus_even/3"),
    (CONTROL, "even(X) :- 0 is X mod 2.", "even(X) :- 1 is X mod 2.", "alt(X)", "even/1"),
    (CONTROL, "even(X) :- 0 is X mod 2.", "even(X) :- 1 is X mod 2.", "pair(2,K)", "even/1"),
    (CONTROL, "even(X) :- 0 is X mod 2.", "even(X) :- 1 is X mod 2.", "pair(1,K)", "even/1"),
    (CONTROL, "even(X) :- 0 is X mod 2.", "even(X) :- 1 is X mod 2.", "twice_not(X)", "even/1"),
    (CONTROL, "even(X) :- 0 is X mod 2.", "even(X) :- 1 is X mod 2.", "either(4)", "even/1"),
    (CONTROL, "even(X) :- 0 is X mod 2.", "even(X) :- 1 is X mod 2.", "either(3)", "even/1"),
    (CONTROL, "even(X) :- 0 is X mod 2.", "even(X) :- 1 is X mod 2.", "in_cond(2,K)", "even/1"),
    (CONTROL, "high(3).", "high(5).", "alt(X)", "high/1"),
    (CONTROL, "high(3).", "high(_) :- fail.", "alt(X)", "high/1"),
    (CONTROL, "low(2). ", "low(7). ", "alt(X)", "low/1"),
    (CONTROL, "big(X) :- X > 2.", "big(X) :- X > 0.", "either(2)", "big/1"),
    (CONTROL, "big(X) :- X > 2.", "big(X) :- X > 4.", "in_cond(4,K)", "big/1"),
    (MIXED, "P < 10.", "P < 4.", "bought([pen,ink,pad],C)", "cheap/1"),
    (MIXED, "P < 10.", "P < 40.", "all_cheap([pen,ink])", "cheap/1"),
    (MIXED, "P < 10.", "P < 4.", "all_cheap([pen,pad])", "cheap/1"),
    (MIXED, "P < 10.", "P < 4.", "both(X,Y)", "cheap/1"),
    (MIXED, "P < 10.", "P < 4.", "count(pad,N)", "cheap/1"),
    (MIXED, "price(pad, 4).", "price(pad, 1).", "cheapest(X)", "price/2"),
    (MIXED, "price(pen, 2). ", "", "sum_of([pad,ink],S), cheapest(X)", "price/2"),
    (MIXED, "Q < P ).", "Q > P ).", "cheapest(X)", "cheapest/1"),
    (MIXED, "price(pad, 4).", "price(pad, 5).", "sum_of([pen,pad],S)", "price/2"),
    (MIXED, "price(pad, 4).", "price(pad, 50).", "listed(L)", "price/2"),
    (MIXED, "price(pad, 4).", "", "known(pad,R)", "price/2"),
    (MIXED, "must_know(X) :- price(X, _), !.", "must_know(X) :- price(_, X), !.",
     "known(pen,R)", "must_know/1"),
    (MIXED, "default(_, 1).", "default(_, 2).", "safe_price(hat,P)", "default/2"),
    (MIXED, "price(pad, 4).", "", "safe_price(pad,P)", "price/2"),
    (MIXED, "P < 3 ->", "P < 5 ->", "graded(pad,G)", "grade/2"),
    (MIXED, "P < 3 ->", "P < 5 ->", "same_grade(pen,Y)", "grade/2"),
    (MIXED, "letters([C]) --> letter(C).", "letters([]) --> letter(_).",
     "split('ab cd',W)", "letters/3"),
    (MIXED, "spaces --> space, spaces.", "", "split('ab  cd',W)", "spaces/2"),
    (MIXED, "X @< Y -> insert(L, X, L1)", "X @> Y -> insert(L, X, L1)",
     "sorted([b,a,c],S)", "insert/3"),
    (MIXED, "walk(L), [X], walk(R)", "walk(L), walk(R), [X]", "sorted([b,a,c],S)", "walk/3"),
    (MIXED, "V is X * Y", "V is X - Y", "eval(if(1*2 < 2+1, 1+2*3, 0),V)", "eval/2"),
    (MIXED, "X < Y.", "X > Y.", "eval(if(1*2 < 2+1, 1+2*3, 0),V)", "holds/1"),
    (MIXED, "rule(bitter(tea), true).", "rule(bitter(jam), true).",
     "solve(likes(ann,X))", "rule/2"),
    (MIXED, "rule(food(jam), true).", "", "solve(likes(ann,jam))", "rule/2"),
    (MIXED, "\\+ solve(A).", "solve(A).", "solve(likes(ann,jam))", "solve/1"),
]  # fmt: skip

KEPT = """
first_even(L, X) :- mem(X, L), even(X), !.
even(X) :- X mod 2 =:= 0.
mem(X, [X|_]).
mem(X, [_|T]) :- mem(X, T).
pick(L, X) :- mem(X, L), X > 1.
chosen(L, R) :- ( pick(L, X) -> R = got(X) ; R = none ).
found(L, X) :- once(pick(L, X)).
large(L) :- pick(L, X), !, X > 3.
kind(X, K) :- class(X, K), !.
is_tiny(X) :- class(X, K), !, K = tiny.
tiny_too(X) :- ( class(X, K) -> K = tiny ; true ).
class(X, tiny) :- X < 2.
class(X, small) :- X < 10.
class(_, big).
free(L, X) :- mem(X, L), \\+ taken(X), !.
taken(2). taken(7).
"""
MEM = ["mem(X, [X|_]).\n", "mem(X, [_|T]) :- mem(X, T).\n"]
KEPT_SLIPS = [
    ("class(X, tiny) :- X < 2.", "", "kind(1, K)", "class/2"),
    ("class(X, tiny) :- X < 2.", "", "is_tiny(1)", "class/2"),
    ("class(X, tiny) :- X < 2.", "", "tiny_too(1)", "class/2"),
    ("X mod 2 =:= 0", "X mod 4 =:= 0", "first_even([3,2,4], X)", "even/1"),
    ("".join(MEM), "".join(MEM[::-1]), "chosen([2,3], R)", "mem/2"),
    ("X > 1.", "X > 2.", "found([2,3], X)", "pick/2"),
    ("X > 1.", "X > 3.", "large([2,5])", "pick/2"),
    ("X > 3.", "X > 5.", "large([4])", "large/1"),
    ("taken(7).", "taken(1).", "free([2,1,3], X)", "taken/1"),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(KEPT_SLIPS)))
def test_a_right_answer_is_the_wrong_one_to_keep_where_an_earlier_one_is_missing(
    number: int, tmp_path: Path
) -> None:
    old, new, goal, predicate = KEPT_SLIPS[number]
    assert KEPT.count(old) == 1
    for strategy in ("top-down", DEFAULT):
        blamed = debugged(KEPT, KEPT.replace(old, new), goal, tmp_path, strategy)
        assert blamed.predicate == predicate


RAISING = """
kept :- n(X), !, c(X).
tested :- n(X), t(X), !, c(X).
chosen :- ( n(X) -> c(X) ; true ).
checked :- n(X), s(X), c(X).
valid(X) :- n(X), s(X).
next(Y) :- valid(X), Y is X + 1.
caught(Y) :- catch(next(Y), _, Y = none).
fresh(X) :- ( var(X) -> throw(unbound) ; true ).
given(Y) :- fresh(X), Y = f(X).
listed(X) :- n(X), t(X), c(X).
n(0). n(1).
t(0). t(1).
c(0).
c(1) :- throw(refused).
s(0) :- throw(zero).
s(1).
count([], 0).
count([_|Xs], N) :- count(Xs, M), N is M + 1.
"""
RAISING_SLIPS = [
    ("n(0). n(1).", "n(1). n(0).", "kept", "n/1"),
    ("n(0). n(1).", "n(1). n(0).", "chosen", "n/1"),
    ("t(0). t(1).", "t(1).", "tested", "t/1"),
    ("t(0). t(1).", "t(1).", "listed(X)", "t/1"),
    ("s(0) :- throw(zero).", "s(0) :- fail.", "checked", "s/1"),
    ("s(0) :- throw(zero).", "s(0).", "checked", "s/1"),
    ("s(0) :- throw(zero).", "s(0) :- fail.", "valid(X)", "s/1"),
    ("s(0) :- throw(zero).", "s(0) :- fail.", "next(X)", "s/1"),
    ("throw(unbound)", "X = 1", "given(Y)", "fresh/1"),
    ("count(Xs, M), N", "count(M, Xs), N", "count([a,b,c,d], N)", "count/2"),
]


@pytest.mark.parametrize("number", range(len(RAISING_SLIPS)))
def test_who_led_to_an_error_or_kept_one_from_being_raised_is_blamed(
    number: int, tmp_path: Path
) -> None:
    old, new, goal, predicate = RAISING_SLIPS[number]
    assert RAISING.count(old) == 1
    blamed = debugged(RAISING, RAISING.replace(old, new), goal, tmp_path)
    assert blamed.predicate == predicate


def test_nobody_is_blamed_where_the_error_that_should_be_caught_came_out_of_sight(
    tmp_path: Path,
) -> None:
    wrong = RAISING.replace("s(0) :- throw(zero).", "s(0) :- fail.")
    assert debugged(RAISING, wrong, "caught(Y)", tmp_path).predicate == ""


@pytest.mark.parametrize("number", range(len(SLIPS)))
def test_the_predicate_with_the_slip_is_blamed(number: int, tmp_path: Path) -> None:
    right, old, new, goal, predicate = SLIPS[number]
    assert right.count(old) == 1 or (old, new) in {("N is M + 1.", "N is M.")}
    blamed = debugged(right, right.replace(old, new), goal, tmp_path)
    assert blamed.predicate == predicate


@pytest.mark.parametrize("number", range(0, len(SLIPS), 4))
def test_marks_lead_to_it_too(number: int, tmp_path: Path) -> None:
    right, old, new, goal, predicate = SLIPS[number]
    session = debugged_with_marks(right, right.replace(old, new), goal, tmp_path)
    assert session is not None
    assert session.predicate == predicate
