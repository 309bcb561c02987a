:- style_check(-singleton), style_check(-discontiguous).
% goal: order(L)
% goal: first(X)
task(shop). task(cook). task(eat). task(wash). task(read).
before(shop, cook). before(cook, eat). before(eat, wash).
order(L) :- findall(T, task(T), Ts), arranged(Ts, L).
arranged([], []).
arranged(Ts, [T|L]) :- picked(T, Ts, Rest), \+ blocked(T, Rest), !, arranged(Rest, L).
picked(X, [X|Xs], Xs).
picked(X, [Y|Xs], [Y|Ys]) :- picked(X, Xs, Ys).
blocked(T, Rest) :- before(U, T), listed(U, Rest).
listed(X, [X|_]) :- !.
listed(X, [_|Xs]) :- listed(X, Xs).
first(X) :- task(X), \+ before(_, X).
