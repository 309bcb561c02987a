:- style_check(-singleton), style_check(-discontiguous).
% goal: prove(grandparent(ann, X))
% goal: prove(lonely(X))
% goal: depth_of(grandparent(ann, carl), D)
rule(parent(ann, bob), true).
rule(parent(bob, carl), true).
rule(parent(bob, dora), true).
rule(grandparent(X, Z), (parent(X, Y), parent(Y, Z))).
rule(person(X), one_of(X)).
rule(lonely(X), (person(X), not(parent(X, _)), not(parent(_, X)))).
prove(true) :- !.
prove((A, B)) :- !, prove(A), prove(B).
prove(not(A)) :- !, \+ prove(A).
prove(one_of(X)) :- !, listed(X, [ann, bob, carl, emil]).
prove(A) :- rule(A, B), prove(B).
listed(X, [X|_]).
listed(X, [_|Xs]) :- listed(X, Xs).
depth_of(true, 0) :- !.
depth_of((A, B), D) :- !, depth_of(A, D1), depth_of(B, D2), ( D1 > D2 -> D = D1 ; D = D2 ).
depth_of(A, D) :- rule(A, B), depth_of(B, D0), D is D0 + 1.
