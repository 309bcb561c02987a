:- style_check(-singleton), style_check(-discontiguous).
% goal: flat([1,[2,[3,4]],5,[]], X)
% goal: depth([1,[2,[3]]], D)
flat([], []) :- !.
flat([X|Xs], L) :- !, flat(X, L1), flat(Xs, L2), join(L1, L2, L).
flat(X, [X]).
join([], L, L).
join([X|Xs], L, [X|Zs]) :- join(Xs, L, Zs).
depth([], 1) :- !.
depth([X|Xs], D) :- !, depth(X, D0), D1 is D0 + 1, depth(Xs, D2), larger(D1, D2, D).
depth(_, 0).
larger(A, B, A) :- A >= B, !.
larger(_, B, B).
