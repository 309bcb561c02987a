:- style_check(-singleton), style_check(-discontiguous).
% goal: hanoi(3, M)
% goal: moves(4, N)
hanoi(N, M) :- shifted(N, left, right, middle, M).
shifted(0, _, _, _, []) :- !.
shifted(N, A, B, C, M) :-
    N > 0, K is N - 1, shifted(K, A, C, B, M1), shifted(K, C, B, A, M2),
    glued(M1, [A-B|M2], M).
glued([], L, L).
glued([X|Xs], L, [X|Zs]) :- glued(Xs, L, Zs).
moves(N, K) :- hanoi(N, M), counted(M, K).
counted([], 0).
counted([_|Xs], N) :- counted(Xs, M), N is M + 1.
