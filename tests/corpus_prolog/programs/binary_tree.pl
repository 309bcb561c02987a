:- style_check(-singleton), style_check(-discontiguous).
% goal: built([5,2,8,1,9], T), keys(T, K)
% goal: built([5,2,8], T), found(8, T)
% goal: built([3,1,2], T), height(T, H)
put(X, nil, t(nil, X, nil)).
put(X, t(L, X, R), t(L, X, R)) :- !.
put(X, t(L, Y, R), t(M, Y, R)) :- X < Y, !, put(X, L, M).
put(X, t(L, Y, R), t(L, Y, M)) :- put(X, R, M).
built(Xs, T) :- put_all(Xs, nil, T).
put_all([], T, T).
put_all([X|Xs], T0, T) :- put(X, T0, T1), put_all(Xs, T1, T).
found(X, t(_, X, _)) :- !.
found(X, t(L, Y, _)) :- X < Y, !, found(X, L).
found(X, t(_, _, R)) :- found(X, R).
keys(nil, []).
keys(t(L, X, R), K) :- keys(L, A), keys(R, B), glued(A, [X|B], K).
glued([], L, L).
glued([X|Xs], L, [X|Zs]) :- glued(Xs, L, Zs).
height(nil, 0).
height(t(L, _, R), H) :- height(L, A), height(R, B), ( A > B -> H is A + 1 ; H is B + 1 ).
