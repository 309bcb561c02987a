:- style_check(-singleton), style_check(-discontiguous).
% goal: mean([2,4,6,8], M)
% goal: spread([5,3,9,4], S)
% goal: nth(2, [a,b,c], X)
total([], 0).
total([X|Xs], S) :- total(Xs, T), S is T + X.
count([], 0).
count([_|Xs], N) :- count(Xs, M), N is M + 1.
mean(L, M) :- total(L, S), count(L, N), N > 0, M is S / N.
largest([X], X).
largest([X|Xs], M) :- largest(Xs, M0), ( X > M0 -> M = X ; M = M0 ).
smallest([X], X).
smallest([X|Xs], M) :- smallest(Xs, M0), ( X < M0 -> M = X ; M = M0 ).
spread(L, S) :- largest(L, A), smallest(L, B), S is A - B.
nth(0, [X|_], X) :- !.
nth(N, [_|Xs], X) :- N > 0, M is N - 1, nth(M, Xs, X).
