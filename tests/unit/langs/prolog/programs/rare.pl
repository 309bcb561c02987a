% Goals that tracing must not change: what is used less often, and what watches how it is run.
:- use_module(library(solution_sequences)).
:- use_module(library(thread)).
:- use_module(library(dicts)).
:- use_module(library(apply_macros)).
:- dynamic fact/1, waiting/1.

% text
code_at(X) :- string_code(2, "abc", X).
halves(A-B) :- string_concat(A, B, "ab").
parts(X) :- sub_atom(hello, B, 2, _, S), X = B-S.
read_back(T) :- term_to_atom(f(X, "s", 'A b', X), A), term_to_atom(T, A).

% variables that outlive a goal, or do not
undone(X) :- b_setval(v, 1), ( b_setval(v, 2), fail ; b_getval(v, X) ).
kept(X) :- nb_setval(w, f(1)), ( nb_setval(w, f(2)), fail ; nb_getval(w, X) ).
count_in_place(N) :-
    C = count(0),
    ( between(1, 50, _), arg(1, C, M), M1 is M + 1, nb_setarg(1, C, M1), fail ; arg(1, C, N) ).

% many answers
between_many(N) :- aggregate_all(count, ( between(1, 3000, X), X mod 7 =:= 0 ), N).
between_endless(X) :- between(1, inf, X), X * X > 200, !.
lists_of_any_length(L) :- length(L, _).
in_portions(L) :- findnsols(2, X, member(X, [1,2,3,4,5]), L).
the_third(X) :- call_nth(member(X, [a,b,c,d]), 3).
some_of_them(X) :- offset(1, limit(2, order_by([desc(X)], member(X, [2,3,1,5])))).
different_ones(X) :- distinct(X, member(X, [1,2,1,3,2])).

% cleaning up
say(X) :- write(X), nl.
cleaned_after_one(X) :- setup_call_cleanup(say(open), X = 1, say(closed)), say(after).
cleaned_after_the_last(X) :- setup_call_cleanup(say(open), three(X), say(closed)), say(got(X)).
cleaned_by_a_cut(X) :- setup_call_cleanup(true, three(X), say(closed)), say(got(X)), !, say(cut).
cleaned_by_failure :- setup_call_cleanup(true, fail, say(closed)).
cleaned_by_an_error(E) :- catch(call_cleanup(throw(ball), say(closed)), E, say(caught)).
cleaned_twice(X) :- call_cleanup(call_cleanup(three(X), say(inner)), say(outer)), X >= 2, !.
error_in_cleaning(E) :- catch(setup_call_cleanup(true, true, throw(late)), E, true).
why_cleaned(X, W) :- setup_call_catcher_cleanup(true, three(X), C, say(C)), ( X = 2, !, W = two ; W = X ).
three(1). three(2). three(3).

% errors
caught_and_tried_again(X) :- catch(three(X), _, true), X > 1.
error_after_answers(X) :- catch(( three(X), ( X > 2 -> throw(too_many) ; true ) ), E, X = E).
error_in_recovery(R) :- catch(catch(throw(a), a, throw(b)), E, R = E).
error_in_findall(R) :- catch(findall(X, ( three(X), atom_length(_, X) ), _), error(E, _), R = E).
error_in_forall(R) :- catch(forall(three(X), X < a), error(E, _), R = E).
error_in_negation(R) :- catch(( \+ throw(oops) ), E, R = E).
error_in_a_coroutine(R) :- catch(( freeze(X, throw(woken(X))), X = 1 ), E, R = E).
asserted(R) :- catch(must_be(positive_integer, 0), error(E, _), R = E).
error_through_findall_and_back(L) :-
    findall(X, ( three(Y), catch(( Y =:= 2 -> throw(y) ; X = Y ), y, X = caught) ), L).

% tables
:- table p/0, q/0, r/0.
p :- tnot(q).
q :- tnot(p).
r :- tnot(s).
:- table s/0.
s :- fail.
neither(R) :- call_delays(p, D), ( D == true -> R = true ; R = undefined ).
well_founded(R) :- ( r -> R = yes ; R = no ).
:- table shortest(_, _, min).
shortest(X, Y, 1) :- arc(X, Y).
shortest(X, Y, N) :- shortest(X, Z, M), arc(Z, Y), N is M + 1.
arc(a, b). arc(b, c). arc(a, c). arc(c, d). arc(d, a).
shortest_way(N) :- shortest(a, d, N).
:- table fib/2.
fib(0, 0).
fib(1, 1).
fib(N, F) :- N > 1, A is N - 1, B is N - 2, fib(A, X), fib(B, Y), F is X + Y.
big_fib(F) :- fib(60, F).
:- dynamic base/1 as incremental.
:- table derived/1 as incremental.
base(1).
derived(X) :- base(Y), X is Y * 10.
tables_that_follow(L) :-
    retractall(base(_)), assertz(base(1)), findall(X, derived(X), L1), assertz(base(2)),
    findall(X, derived(X), L2), L = L1/L2.

% engines and threads
next_of_an_engine(X-Y) :-
    engine_create(A, three(A), E), engine_next(E, X), engine_next(E, Y), engine_destroy(E).
posted_to_an_engine(S) :-
    engine_create(X, sums(0, X), E), engine_post(E, 3, A), engine_post(E, 4, B), S = A/B,
    engine_destroy(E).
sums(S0, X) :- engine_fetch(N), S is S0 + N, ( X = S ; sums(S, X) ).
in_a_thread(X) :-
    thread_self(Me), thread_create(( three(A), A > 1, thread_send_message(Me, got(A)) ), Id),
    thread_join(Id, _), thread_get_message(got(X)).
thread_that_fails(S) :- thread_create(fail, Id), thread_join(Id, S).
thread_that_raises(S) :- thread_create(throw(x), Id), thread_join(Id, S).
side_by_side(L) :- concurrent_maplist(double, [1,2,3], L).
double(X, Y) :- Y is X * 2.
locked(X) :- with_mutex(m, three(X)).

% coroutines that print
printed_when_bound(X) :- freeze(X, say(bound(X))), say(before), X = 1, say(after).
printed_when_equal(X-Y) :- when(?=(X, Y), say(decided)), X = 1, say(one), Y = 2, say(two).
printed_when_either(X) :- when(( nonvar(X) ; ground(_) ), say(known(X))), three(X).
never_equal(X) :- dif(X, f(Y)), three(Y), X = f(2).
two_at_once(X) :- freeze(X, say(first)), freeze(X, say(second)), freeze(Y, say(third)), f(X, Y) = f(1, 2).

% a domain of one's own
:- module_transparent domain/2.
domain(X, L) :- put_attr(X, rare_domain, L).
rare_domain:attr_unify_hook(L, Y) :- ( var(Y) -> true ; memberchk(Y, L) ).
rare_domain:attribute_goals(X) --> { get_attr(X, rare_domain, L) }, [domain(X, L)].
in_domain(X) :- domain(X, [2,3]), three(X).
domain_left(X) :- domain(X, [2,3]).

% grammars
skip_a, [C] --> "a", [C].
pushed_back(R) :- phrase(skip_a, `abc`, R).
word([C|Cs]) --> [C], { code_type(C, alpha) }, word(Cs).
word([C]) --> [C], { code_type(C, alpha) }.
first_word(W-R) :- phrase(word(Cs), `ab c`, Rest), atom_codes(W, Cs), atom_codes(R, Rest).
not_a --> \+ "a", [_].
negated_in_grammar(X) :- ( phrase(not_a, `b`), \+ phrase(not_a, `a`) -> X = yes ; X = no ).

% how the program is written
:- op(700, xfx, ===>).
a ===> b.
b ===> c.
own_operator(X, Y) :- X ===> Y.
new_operator(T) :- op(200, xfy, ^^), term_to_atom(T, '1 ^^ 2 ^^ 3'), op(0, xfy, ^^).
:- discontiguous scattered/1.
:- multifile scattered/1.
scattered(1).
between_them.
scattered(2).
term_expansion(shorthand(N), [long(N), longer(M)]) :- M is N + 1.
goal_expansion(twice(G), ( G, G )).
shorthand(4).
expanded(X-Y) :- long(X), longer(Y).
expanded_goal :- twice(say(again)).
:- multifile user:portray/1.
user:portray(secret(_)) :- write('<hidden>').
portrayed :- print([secret(1), open]), nl.
dicts_in_bodies(X) :- D = _{a: 1, b: 2}, X = D.b.

% choice points and determinism
first_by_hand(X) :- prolog_current_choice(C), three(X), X > 1, prolog_cut_to(C).
is_last(X, D) :- call_cleanup(three(X), D0 = true), ( D0 == true -> D = last ; D = more ).
:- det(surely/1).
surely(X) :- three(X), X =:= 3.
sure(R) :- catch(surely(R), error(E, _), R = E).
:- det(unsure/1).
unsure(X) :- three(X).
not_sure(R) :- catch(unsure(X), error(determinism_error(_, D, F, K), _), R = not(X, D, F, K)).
dollar(X) :- $, three(X), true.
dollar_goal(R) :- catch($(three(X)), error(determinism_error(_, D, F, K), _), R = not(X, D, F, K)).
depth_of(R) :- call_with_depth_limit(nested(5), 20, R).
too_deep(R) :- call_with_depth_limit(nested(50), 20, R).
nested(0) :- !.
nested(N) :- M is N - 1, nested(M), true.
enough_inferences(R) :- call_with_inference_limit(nested(20), 1000, R).
too_few_inferences(R) :- call_with_inference_limit(nested(2000), 1000, R).
in_time(X) :- call_with_time_limit(60, three(X)).

% the database
retracted_one_by_one(X) :- retractall(fact(_)), forall(three(Y), assertz(fact(Y))), retract(fact(X)).
taken_back(L) :-
    retractall(fact(_)), assertz(fact(0)), snapshot(( assertz(fact(1)), say(inside) )),
    findall(X, fact(X), L).
all_or_nothing(L) :-
    retractall(fact(_)), assertz(fact(0)), catch(transaction(( assertz(fact(1)), throw(no) )), no, true),
    findall(X, fact(X), L).
loaded_meanwhile(X) :-
    open_string("loaded(1). loaded(2).", S), load_files(user:meanwhile, [stream(S)]), close(S),
    user:call(loaded, X).
made_module(X) :- assertz(elsewhere:thing(1)), assertz(elsewhere:thing(2)), elsewhere:thing(X).
seen_from_there(M) :- @(context_module(M), lists).
last_call(N) :- counted_down(30000, N).
counted_down(0, done) :- !.
counted_down(N, R) :- M is N - 1, counted_down(M, R).
