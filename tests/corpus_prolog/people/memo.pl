% Numbers of Catalan, with a memory of its own.
% goal: catalan(6, C)
% bug: assertz(known(N, C)) ==> assertz(known(M, C))
% blame: catalan/2
:- dynamic known/2.
catalan(0, 1) :- !.
catalan(N, C) :- known(N, C), !.
catalan(N, C) :- M is N - 1, pairs(M, M, C), assertz(known(N, C)).
pairs(I, _, 0) :- I < 0, !.
pairs(I, M, S) :- J is M - I, catalan(I, A), catalan(J, B), I1 is I - 1, pairs(I1, M, S0), S is S0 + A * B.
