:- style_check(-singleton), style_check(-discontiguous).
% goal: compiled(2+3*4, C)
% goal: result((1+2)*(3-1), V)
compiled(N, [push(N)]) :- number(N), !.
compiled(E, C) :-
    E =.. [Op, A, B], compiled(A, CA), compiled(B, CB), glued(CB, [do(Op)], C0), glued(CA, C0, C).
glued([], L, L).
glued([X|Xs], L, [X|Zs]) :- glued(Xs, L, Zs).
result(E, V) :- compiled(E, C), executed(C, [], [V]).
executed([], S, S).
executed([I|Is], S0, S) :- one(I, S0, S1), executed(Is, S1, S).
one(push(N), S, [N|S]).
one(do(+), [B,A|S], [V|S]) :- V is A + B.
one(do(-), [B,A|S], [V|S]) :- V is A - B.
one(do(*), [B,A|S], [V|S]) :- V is A * B.
