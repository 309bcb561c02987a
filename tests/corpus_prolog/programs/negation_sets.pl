:- style_check(-singleton), style_check(-discontiguous).
% goal: disjoint([1,2],[3])
% goal: only_in([1,2,3],[2], X)
% goal: subset_of([1],[2,1])
% goal: bachelor(X)
within(X, [X|_]).
within(X, [_|Xs]) :- within(X, Xs).
disjoint(A, B) :- \+ ( within(X, A), within(X, B) ).
only_in(A, B, X) :- within(X, A), \+ within(X, B).
subset_of(A, B) :- \+ ( within(X, A), \+ within(X, B) ).
male(tom). male(tim). male(jim).
married(tom, ann).
married(eve, jim).
wed(X) :- married(X, _).
wed(X) :- married(_, X).
bachelor(X) :- male(X), \+ wed(X).
