:- style_check(-singleton), style_check(-discontiguous).
:- use_module(library(clpfd)).
% goal: square(S)
% goal: sums(4, L)
square([A,B,C,D]) :- cells([A,B,C,D]), equal(A, B, C, D), A #< B, label([A,B,C,D]).
cells(L) :- L ins 1..4, all_different(L).
equal(A, B, C, D) :- A + D #= S, B + C #= S, S #> 0.
sums(N, L) :- findall(X-Y, pair(N, X, Y), L).
pair(N, X, Y) :- [X, Y] ins 0..N, X + Y #= N, X #=< Y, label([X, Y]).
