:- style_check(-singleton), style_check(-discontiguous).
% goal: derived(x*x+3*x, D)
% goal: derived(x^3, D)
% goal: derived(2*x*0+x, D)
derived(E, D) :- d(E, D0), simple(D0, D), !.
d(x, 1) :- !.
d(N, 0) :- number(N), !.
d(A + B, DA + DB) :- d(A, DA), d(B, DB).
d(A - B, DA - DB) :- d(A, DA), d(B, DB).
d(A * B, A * DB + B * DA) :- d(A, DA), d(B, DB).
d(A ^ N, N * A ^ M * DA) :- M is N - 1, d(A, DA).
simple(A + B, S) :- !, simple(A, X), simple(B, Y), plus_of(X, Y, S).
simple(A - B, S) :- !, simple(A, X), simple(B, Y), S = X - Y.
simple(A * B, S) :- !, simple(A, X), simple(B, Y), times_of(X, Y, S).
simple(X, X).
plus_of(0, X, X) :- !.
plus_of(X, 0, X) :- !.
plus_of(X, Y, Z) :- number(X), number(Y), !, Z is X + Y.
plus_of(X, Y, X + Y).
times_of(0, _, 0) :- !.
times_of(_, 0, 0) :- !.
times_of(1, X, X) :- !.
times_of(X, 1, X) :- !.
times_of(X, Y, X * Y).
