:- style_check(-singleton), style_check(-discontiguous).
% goal: msort_list([5,2,8,1,9,3], S)
% goal: merged([1,3,5], [2,3,6], M)
msort_list([], []) :- !.
msort_list([X], [X]) :- !.
msort_list(L, S) :-
    halves(L, A, B), msort_list(A, SA), msort_list(B, SB), merged(SA, SB, S).
halves([], [], []).
halves([X], [X], []).
halves([X,Y|L], [X|A], [Y|B]) :- halves(L, A, B).
merged([], L, L) :- !.
merged(L, [], L) :- !.
merged([X|Xs], [Y|Ys], [X|Zs]) :- X =< Y, !, merged(Xs, [Y|Ys], Zs).
merged([X|Xs], [Y|Ys], [Y|Zs]) :- merged([X|Xs], Ys, Zs).
