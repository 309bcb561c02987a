:- style_check(-singleton), style_check(-discontiguous).
% goal: grade(75, G)
% goal: graded([95,60,20], L)
% goal: unique([a,b,a,c,b], U)
% goal: highest([3,9,4], M)
grade(N, top) :- N >= 90, !.
grade(N, good) :- N >= 70, !.
grade(N, fair) :- N >= 50, !.
grade(_, poor).
graded([], []).
graded([N|Ns], [G|Gs]) :- grade(N, G), graded(Ns, Gs).
unique([], []).
unique([X|Xs], U) :- has(Xs, X), !, unique(Xs, U).
unique([X|Xs], [X|U]) :- unique(Xs, U).
has([X|_], X) :- !.
has([_|Xs], X) :- has(Xs, X).
highest([X], X) :- !.
highest([X|Xs], X) :- highest(Xs, Y), X >= Y, !.
highest([_|Xs], Y) :- highest(Xs, Y).
