:- style_check(-singleton), style_check(-discontiguous).
% goal: perm([1,2,3], X)
% goal: without(2, [1,2,3,2], X)
% goal: pick_two([1,2,3], P)
sel(X, [X|Xs], Xs).
sel(X, [Y|Xs], [Y|Ys]) :- sel(X, Xs, Ys).
perm([], []).
perm(L, [X|P]) :- sel(X, L, R), perm(R, P).
without(_, [], []).
without(X, [X|L], R) :- !, without(X, L, R).
without(X, [Y|L], [Y|R]) :- without(X, L, R).
pick_two(L, pair(A, B)) :- sel(A, L, R), sel(B, R, _), A < B.
