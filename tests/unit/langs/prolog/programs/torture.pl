% Goals that tracing must not change: every control construct, and what runs behind the scenes.
:- use_module(library(clpfd)).
:- use_module(library(yall)).
:- use_module(library(aggregate)).
:- use_module(shapes).
:- dynamic counter/1, fact/2, visited/1.

% cuts and conditions
cut_in_or(X) :- ( member(X, [1,2,3]), X > 1, ! ; X = 9 ).
cut_after_then(X) :- ( true -> member(X, [1,2]), ! ; X = 0 ).
cut_in_negation :- \+ ( member(X, [1,2]), !, X > 1 ).
cut_in_call(X) :- call((member(X, [1,2,3]), !)) ; X = z.
cut_as_data(X) :- member(X, [1,2,3]), G = (!), call(G), X >= 2.
cut_first(X, Y) :- first(X), !, second(Y).
cut_first(none, none).
first(1). first(2).
second(a). second(b).
once_inside(X, Y) :- member(X, [1,2]), once(member(Y, [a,b])).
soft(X) :- ( member(X, [1,2,3]) *-> X > 1 ; X = none ).
soft_else(X) :- ( fail *-> X = 1 ; X = none ).
nested(X) :- ( \+ first(7) -> ( first(X), X > 1 -> true ; X = 0 ) ; X = 8 ).
if_only(X) :- ( first(X) -> X > 1 ).
ignored(X) :- ignore(( first(X), X > 5 )), ( var(X) -> X = free ; true ).
between_ands(X-Y) :- ( first(X) ; X = 5 ), ( second(Y) ; Y = c ), X-Y \== 2-a.

% all solutions
age(peter, 7). age(ann, 11). age(pat, 8). age(tom, 5). age(mike, 11).
all(L) :- findall(N-A, age(N, A), L).
bags(A, L) :- bagof(N, age(N, A), L).
sets(L) :- setof(A-N, age(N, A), L).
exists(L) :- setof(A, N^age(N, A), L).
every :- forall(age(_, A), A > 4).
not_every :- forall(age(_, A), A > 5).
counted(N) :- aggregate_all(count, age(_, _), N).
summed(S) :- aggregate_all(sum(A), age(_, A), S).
cut_in_findall(X) :- findall(Y, ( member(Y, [1,2,3]), ! ), X).

% calling what was built
add(X, Y, Z) :- Z is X + Y.
mapped(L) :- maplist(add(3), [1,2,3], L).
folded(S) :- foldl(add, [1,2,3], 0, S).
lambda(L) :- maplist([X,Y]>>(Y is X * 2), [1,2,3], L).
closed(R) :- G = add(1), call(G, 2, R).
filtered(L) :- include([X]>>(X > 1), [1,2,3], L).
univ(R) :- G =.. [add, 1, 2, R], G.
apart(X) :- shapes:area(square(3), X).
imported(X) :- area(circle(1), X).

% errors
caught(R) :- catch(bad(0, _), error(E, _), R = caught(E)).
bad(X, Y) :- Y is 1 / X.
found(R) :- catch(( member(X, [1,2,3]), X > 1, throw(found(X)) ), found(Y), R = Y).
outer(R) :- catch(catch(throw(a), b, R = inner), a, R = outer).
unknown(R) :- catch(nowhere(1), error(existence_error(A, B), _), R = A-B).
raising(X) :- X = 1, deep_error(3).
deep_error(0) :- throw(my_error).
deep_error(N) :- M is N - 1, deep_error(M).
after_an_answer(1).
after_an_answer(X) :- atom_length(X, _).
cleaned(R) :- setup_call_cleanup(R = s(A), member(X, [1,2]), A = done), X > 0.
rethrown(R) :- catch(catch(throw(x), E, ( E = y ; throw(E) )), Z, R = Z).

% grammars
digits([D|T]) --> digit(D), digits(T).
digits([D]) --> digit(D).
digit(D) --> [D], { code_type(D, digit) }.
expr(V) --> term(V0), rest(V0, V).
rest(V0, V) --> "+", !, term(V1), { V2 is V0 + V1 }, rest(V2, V).
rest(V, V) --> [].
term(V) --> digits(Ds), { number_codes(V, Ds) }.
parsed(V) :- string_codes("12+30+4", Cs), phrase(expr(V), Cs).
called_in_grammar(N) :- phrase(call(run_length, N), `aaa`).
run_length(N, L, []) :- length(L, N).

% the database
increment :- retract(counter(N)), N1 is N + 1, assertz(counter(N1)).
counting(N) :- retractall(counter(_)), assertz(counter(0)), increment, increment, counter(N).
logical_update(L) :-
    retractall(fact(_, _)), assertz(fact(1, a)), assertz(fact(2, b)),
    findall(X, ( fact(X, _), X < 5, Y is X + 1, assertz(fact(Y, z)) ), L).
made_rules(X) :-
    retractall(fact(_, _)), assertz((fact(A, B) :- A > 1, !, B = big)), assertz(fact(_, small)),
    fact(2, P), fact(1, Q), X = P/Q.
globals(L) :-
    nb_setval(k, 0), forall(between(1, 5, _), ( nb_getval(k, V), W is V + 1, nb_setval(k, W) )),
    nb_getval(k, L).
walk(X) :- retractall(visited(_)), step(1), findall(V, visited(V), X).
step(N) :- N > 3, !.
step(N) :- assertz(visited(N)), M is N + 1, step(M).

% constraints and coroutines
labelled(L) :- L = [X,Y], X in 1..3, Y #= X * 2, Y #> 3, label(L).
left_open(X) :- X in 1..3, X #\= 2.
frozen(R) :- freeze(X, R = got(X)), X = 5.
still_frozen(X) :- freeze(X, true).
different(R) :- dif(X, a), ( X = a -> R = same ; X = b, R = diff(X) ).
send(Vs) :- money(Vs), label(Vs).
money([S,E,N,D,M,O,R,Y]) :-
    Vars = [S,E,N,D,M,O,R,Y], Vars ins 0..9, all_different(Vars),
    S*1000 + E*100 + N*10 + D + M*1000 + O*100 + R*10 + E
        #= M*10000 + O*1000 + N*100 + E*10 + Y,
    M #\= 0, S #\= 0.

% tables, single-sided unification, delimited control
:- table path/2.
edge(1, 2). edge(2, 3). edge(3, 1).
path(X, Y) :- edge(X, Y).
path(X, Y) :- path(X, Z), edge(Z, Y).
tabled(L) :- findall(Y, path(1, Y), L0), sort(L0, L).
len([], N) => N = 0.
len([_|T], N) => len(T, N0), N is N0 + 1.
single_sided(N) :- len([a,b,c], N).
no_rule(R) :- catch(len(_, _), error(E, _), R = E).
delimited(L) :- reset(gen, ball(X), C), ( C == 0 -> L = [] ; L = [X] ).
gen :- shift(ball(1)), shift(ball(2)).

% terms
strings(X) :- X = "str", string_length(X, _).
big_number(X) :- X is 2 ** 100.
cyclic(ok) :- X = f(X, 1), X = f(_, Y), Y == 1.
big_term(N) :- numlist(1, 2000, L), msort(L, M), length(M, N).
odd_atoms(X) :- member(X, ['a b', [], '[]', {}, 'Ä', '\n', "a\tb", 'don''t', 0'a]).
operators(X) :- X = (a :- b, \+ c ; - (1) * -1 ** (- - 1)).
splits(L) :- findall(X-Y, atom_concat(X, Y, ab), L).
clauses(L) :- findall(H, clause(age(H, _), true), L).

% depth, output and input
down(0) :- !.
down(N) :- M is N - 1, down(M).
sum_to(0, 0).
sum_to(N, S) :- N > 0, M is N - 1, sum_to(M, T), S is T + N.
printing(X) :- member(X, [1,2]), format("at ~w~n", [X]), X > 1.
to_string(S) :- with_output_to(string(S), ( write(a), print(b) )).
reading(X) :- read(X).
