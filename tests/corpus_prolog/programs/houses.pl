:- style_check(-singleton), style_check(-discontiguous).
% goal: owner(fish, X)
% goal: street(S)
street(S) :- S = [h(red, _, _), h(_, _, _), h(_, _, _)],
    one_of(h(green, anna, _), S), one_of(h(_, bert, cat), S),
    next_to(h(_, anna, _), h(_, bert, _), S),
    one_of(h(blue, _, _), S), one_of(h(_, _, fish), S), right_of(h(blue, _, _), h(red, _, _), S),
    one_of(h(_, carl, dog), S).
owner(Pet, X) :- street(S), one_of(h(_, X, Pet), S).
one_of(X, [X|_]).
one_of(X, [_|Xs]) :- one_of(X, Xs).
right_of(X, Y, [Y,X|_]).
right_of(X, Y, [_|L]) :- right_of(X, Y, L).
next_to(X, Y, L) :- right_of(X, Y, L).
next_to(X, Y, L) :- right_of(Y, X, L).
