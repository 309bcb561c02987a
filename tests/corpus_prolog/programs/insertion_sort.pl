:- style_check(-singleton), style_check(-discontiguous).
% goal: isort([3,1,2,3,0], S)
% goal: ordered([1,2,2,5])
% goal: ordered([2,1])
isort([], []).
isort([X|Xs], S) :- isort(Xs, S0), insert(X, S0, S).
insert(X, [], [X]).
insert(X, [Y|Ys], [X,Y|Ys]) :- X =< Y, !.
insert(X, [Y|Ys], [Y|Zs]) :- insert(X, Ys, Zs).
ordered([]).
ordered([_]).
ordered([X,Y|L]) :- X =< Y, ordered([Y|L]).
