:- style_check(-singleton), style_check(-discontiguous).
% goal: ancestor(ada, X)
% goal: sibling(cleo, X)
% goal: cousin(eli, X)
% goal: eldest(X)
parent(ada, ben). parent(ada, cleo). parent(ben, dan). parent(cleo, eli). parent(dan, finn).
born(ada, 1900). born(ben, 1925). born(cleo, 1930). born(dan, 1950). born(eli, 1955).
born(finn, 1980).
ancestor(X, Y) :- parent(X, Y).
ancestor(X, Y) :- parent(X, Z), ancestor(Z, Y).
sibling(X, Y) :- parent(P, X), parent(P, Y), X \== Y.
cousin(X, Y) :- parent(P, X), parent(Q, Y), sibling(P, Q).
eldest(X) :- born(X, A), \+ ( born(_, B), B < A ).
