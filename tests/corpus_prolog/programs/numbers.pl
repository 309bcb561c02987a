:- style_check(-singleton), style_check(-discontiguous).
% goal: primes(12, P)
% goal: common(12, 18, G)
% goal: fib(8, F)
% goal: collatz(6, L)
primes(N, P) :- numbers(2, N, L), sieved(L, P).
numbers(L, H, []) :- L > H, !.
numbers(L, H, [L|R]) :- M is L + 1, numbers(M, H, R).
sieved([], []).
sieved([P|L], [P|R]) :- struck(P, L, M), sieved(M, R).
struck(_, [], []).
struck(P, [X|L], R) :- 0 is X mod P, !, struck(P, L, R).
struck(P, [X|L], [X|R]) :- struck(P, L, R).
common(A, 0, A) :- !.
common(A, B, G) :- C is A mod B, common(B, C, G).
fib(0, 0) :- !.
fib(1, 1) :- !.
fib(N, F) :- A is N - 1, B is N - 2, fib(A, X), fib(B, Y), F is X + Y.
collatz(1, [1]) :- !.
collatz(N, [N|L]) :- next(N, M), collatz(M, L).
next(N, M) :- 0 is N mod 2, !, M is N // 2.
next(N, M) :- M is 3 * N + 1.
