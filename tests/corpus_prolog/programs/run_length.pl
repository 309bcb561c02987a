:- style_check(-singleton), style_check(-discontiguous).
% goal: packed([a,a,b,c,c,c], P)
% goal: unpacked([2-x,1-y], L)
packed([], []).
packed([X|Xs], [N-X|P]) :- run_of(X, Xs, M, Rest), N is M + 1, packed(Rest, P).
run_of(X, [X|Xs], N, Rest) :- !, run_of(X, Xs, M, Rest), N is M + 1.
run_of(_, Rest, 0, Rest).
unpacked([], []).
unpacked([N-X|P], L) :- copies(N, X, L, Rest), unpacked(P, Rest).
copies(0, _, L, L) :- !.
copies(N, X, [X|L], Rest) :- N > 0, M is N - 1, copies(M, X, L, Rest).
