:- style_check(-singleton), style_check(-discontiguous).
:- use_module(library(clpfd)).
% goal: board(4, Q)
board(N, Qs) :- length(Qs, N), Qs ins 1..N, apart(Qs), labeling([], Qs).
apart([]).
apart([Q|Qs]) :- free(Q, Qs, 1), apart(Qs).
free(_, [], _).
free(Q, [P|Ps], D) :- Q #\= P, Q #\= P + D, Q #\= P - D, E is D + 1, free(Q, Ps, E).
