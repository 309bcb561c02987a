:- style_check(-singleton), style_check(-discontiguous).
% goal: sample(T), mirror(T, M)
% goal: sample(T), leaves(T, L)
% goal: sample(T), path_to(4, T, P)
% goal: sample(T), balanced(T)
sample(n(n(l(1), 2, l(3)), 5, l(4))).
mirror(l(X), l(X)).
mirror(n(A, X, B), n(C, X, D)) :- mirror(B, C), mirror(A, D).
leaves(l(X), [X]).
leaves(n(A, _, B), L) :- leaves(A, L1), leaves(B, L2), both(L1, L2, L).
both([], L, L).
both([X|Xs], L, [X|Zs]) :- both(Xs, L, Zs).
path_to(X, l(X), []).
path_to(X, n(A, _, _), [left|P]) :- path_to(X, A, P).
path_to(X, n(_, _, B), [right|P]) :- path_to(X, B, P).
size(l(_), 1).
size(n(A, _, B), N) :- size(A, N1), size(B, N2), N is N1 + N2 + 1.
balanced(l(_)).
balanced(n(A, _, B)) :- size(A, N), size(B, M), abs(N - M) =< 2, balanced(A), balanced(B).
