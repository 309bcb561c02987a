:- style_check(-singleton), style_check(-discontiguous).
% goal: qsort([3,1,4,1,5,9,2], S)
% goal: qsort([], S)
qsort([], []).
qsort([P|L], S) :- split(L, P, Low, High), qsort(Low, A), qsort(High, B), join(A, [P|B], S).
split([], _, [], []).
split([X|Xs], P, [X|L], H) :- X < P, split(Xs, P, L, H).
split([X|Xs], P, L, [X|H]) :- X >= P, split(Xs, P, L, H).
join([], L, L).
join([X|Xs], L, [X|Zs]) :- join(Xs, L, Zs).
