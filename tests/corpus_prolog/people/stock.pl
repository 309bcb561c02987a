% A stock of goods with exceptions for what cannot be.
% goal: orders([buy(tea, 5), sell(tea, 3), sell(jam, 1), buy(jam, 4), sell(jam, 2)], Log)
% bug: N1 is N0 - N, ==> N1 is N0 - 1,
% blame: change/2
:- dynamic stock/2.
orders([], []).
orders([O|Os], [R|Rs]) :- catch(( change(O, Left), R = left(Left) ), no_stock(G), R = refused(G)), orders(Os, Rs).
change(buy(G, N), N1) :- amount(G, N0), N1 is N0 + N, set(G, N1).
change(sell(G, N), N1) :- amount(G, N0), ( N0 >= N -> true ; throw(no_stock(G)) ), N1 is N0 - N, set(G, N1).
amount(G, N) :- stock(G, N), !.
amount(_, 0).
set(G, N) :- retractall(stock(G, _)), assertz(stock(G, N)).
