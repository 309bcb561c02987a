:- style_check(-singleton), style_check(-discontiguous).
% goal: shortest(a, d, P, C)
% goal: cost([a,b,d], C)
road(a, b, 4). road(a, c, 1). road(c, b, 2). road(b, d, 1). road(c, d, 5).
path(X, X, _, [X], 0).
path(X, Y, Seen, [X|P], C) :-
    road(X, Z, D), \+ listed(Z, Seen), path(Z, Y, [Z|Seen], P, E), C is D + E.
listed(X, [X|_]).
listed(X, [_|Xs]) :- listed(X, Xs).
shortest(X, Y, P, C) :-
    findall(D-Q, path(X, Y, [X], Q, D), Ways), cheapest(Ways, C-P).
cheapest([W], W).
cheapest([C-P|Ws], B) :- cheapest(Ws, D-Q), ( C =< D -> B = C-P ; B = D-Q ).
cost([_], 0).
cost([X,Y|P], C) :- road(X, Y, D), cost([Y|P], E), C is D + E.
