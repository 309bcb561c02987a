:- style_check(-singleton), style_check(-discontiguous).
% goal: reach(a, X)
% goal: cyclic(a)
% goal: sink(X)
edge(a, b). edge(b, c). edge(c, a). edge(b, d). edge(d, e).
reach(X, Y) :- walk(X, Y, [X]).
walk(X, Y, _) :- edge(X, Y).
walk(X, Y, Seen) :- edge(X, Z), \+ seen(Z, Seen), walk(Z, Y, [Z|Seen]).
seen(X, [X|_]) :- !.
seen(X, [_|Xs]) :- seen(X, Xs).
cyclic(X) :- reach(X, X), !.
node(X) :- edge(X, _).
node(X) :- edge(_, X).
sink(X) :- setof(Y, node(Y), Ys), listed(X, Ys), \+ edge(X, _).
listed(X, [X|_]).
listed(X, [_|Xs]) :- listed(X, Xs).
