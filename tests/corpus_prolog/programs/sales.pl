:- style_check(-singleton), style_check(-discontiguous).
% goal: by_region(R, T)
% goal: best(R)
% goal: share(north, S)
sale(north, pens, 10). sale(north, ink, 30). sale(south, pens, 25). sale(west, ink, 5).
region(R) :- setof(X, P^N^sale(X, P, N), Rs), member(R, Rs).
by_region(R, T) :- region(R), findall(N, sale(R, _, N), Ns), added(Ns, T).
added([], 0).
added([N|Ns], T) :- added(Ns, S), T is S + N.
best(R) :- by_region(R, T), \+ ( by_region(_, U), U > T ).
total(T) :- aggregate_all(sum(N), sale(_, _, N), T).
share(R, S) :- by_region(R, T), total(A), S is 100 * T // A.
