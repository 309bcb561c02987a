:- style_check(-singleton), style_check(-discontiguous).
% goal: type_of([], lam(x, var(x)), T)
% goal: type_of([n-int], app(lam(x, plus(var(x), var(n))), num(1)), T)
% goal: type_of([], if(true, num(1), num(2)), T)
type_of(_, num(_), int).
type_of(_, true, bool).
type_of(_, false, bool).
type_of(G, var(X), T) :- bound(X, G, T).
type_of(G, lam(X, B), A -> R) :- type_of([X-A|G], B, R).
type_of(G, app(F, E), R) :- type_of(G, F, A -> R), type_of(G, E, A).
type_of(G, plus(A, B), int) :- type_of(G, A, int), type_of(G, B, int).
type_of(G, if(C, A, B), T) :- type_of(G, C, bool), type_of(G, A, T), type_of(G, B, T).
bound(X, [X-T|_], T) :- !.
bound(X, [_|G], T) :- bound(X, G, T).
