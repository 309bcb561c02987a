:- style_check(-singleton), style_check(-discontiguous).
:- use_module(library(clpfd)).
% goal: change(11, C)
% goal: few(11, C)
change(Sum, coins(A, B, C)) :- posted(Sum, A, B, C), label([A, B, C]).
posted(Sum, A, B, C) :- bounds(Sum, [A, B, C]), value(A, B, C, V), V #= Sum.
bounds(Sum, Vs) :- Vs ins 0..Sum.
value(A, B, C, V) :- V #= A + 2 * B + 5 * C.
few(Sum, C) :- C = coins(X, Y, Z), change(Sum, C), X + Y + Z =< 4.
