:- style_check(-singleton), style_check(-discontiguous).
% goal: final([x=5, y=1], V)
% goal: run([x:=3, y:=x*x], [], E)
final(E0, V) :-
    run([while(0 < x, [y := y * x, x := x - 1])], E0, E), look(y, E, V).
run([], E, E).
run([S|Ss], E0, E) :- step(S, E0, E1), run(Ss, E1, E).
step(X := A, E0, E) :- eval(A, E0, V), stored(X, V, E0, E).
step(if(C, A, B), E0, E) :- ( true_in(C, E0) -> run(A, E0, E) ; run(B, E0, E) ).
step(while(C, B), E0, E) :-
    ( true_in(C, E0) -> run(B, E0, E1), step(while(C, B), E1, E) ; E = E0 ).
true_in(A < B, E) :- eval(A, E, X), eval(B, E, Y), X < Y.
eval(N, _, N) :- number(N), !.
eval(X, E, V) :- atom(X), !, look(X, E, V).
eval(A + B, E, V) :- eval(A, E, X), eval(B, E, Y), V is X + Y.
eval(A - B, E, V) :- eval(A, E, X), eval(B, E, Y), V is X - Y.
eval(A * B, E, V) :- eval(A, E, X), eval(B, E, Y), V is X * Y.
look(X, [X=V|_], V) :- !.
look(X, [_|E], V) :- look(X, E, V).
stored(X, V, [], [X=V]).
stored(X, V, [X=_|E], [X=V|E]) :- !.
stored(X, V, [B|E0], [B|E]) :- stored(X, V, E0, E).
