:- style_check(-singleton), style_check(-discontiguous).
% goal: coded([a-5,b-2,c-1], C)
% goal: tree_of([a-3,b-1], T)
tree_of(Fs, T) :- leaves(Fs, Ls), joined(Ls, T).
leaves([], []).
leaves([X-N|Fs], Ls) :- leaves(Fs, L0), put(N-leaf(X), L0, Ls).
put(N-T, [], [N-T]).
put(N-T, [M-S|R], [N-T,M-S|R]) :- N =< M, !.
put(X, [Y|R], [Y|S]) :- put(X, R, S).
joined([_-T], T) :- !.
joined([N-A,M-B|R], T) :- K is N + M, put(K-node(A, B), R, S), joined(S, T).
code(leaf(X), X, []).
code(node(A, _), X, [0|C]) :- code(A, X, C).
code(node(_, B), X, [1|C]) :- code(B, X, C).
coded(Fs, L) :- tree_of(Fs, T), findall(X-C, code(T, X, C), L).
