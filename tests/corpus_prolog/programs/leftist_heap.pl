:- style_check(-singleton), style_check(-discontiguous).
% goal: heap_of([5,3,8,1], H), drained(H, L)
% goal: heap_of([2,7], H), least(H, X)
rank(e, 0).
rank(h(R, _, _, _), R).
meld(e, H, H) :- !.
meld(H, e, H) :- !.
meld(h(_, X, A, B), h(R, Y, C, D), H) :- X =< Y, !, meld(B, h(R, Y, C, D), M), made(X, A, M, H).
meld(H1, h(_, Y, C, D), H) :- meld(H1, D, M), made(Y, C, M, H).
made(X, A, B, h(R, X, A, B)) :- rank(A, RA), rank(B, RB), RA >= RB, !, R is RB + 1.
made(X, A, B, h(R, X, B, A)) :- rank(A, RA), R is RA + 1.
heap_of([], e).
heap_of([X|Xs], H) :- heap_of(Xs, H0), meld(h(1, X, e, e), H0, H).
least(h(_, X, _, _), X).
drained(e, []).
drained(h(_, X, A, B), [X|L]) :- meld(A, B, H), drained(H, L).
