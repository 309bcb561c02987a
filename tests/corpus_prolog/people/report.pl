% A report that is printed; the goal itself has no answer that shows what is wrong.
% goal: report([item(tea, 3, 250), item(milk, 1, 120), item(jam, 2, 399)], T)
% bug: Cents is Amount mod 100 ==> Cents is Amount mod 10
% blame: money/1
report(Items, Total) :- header, lines(Items, 0, Total), rule(20), total_line(Total).
header :- format("~w~t~10|~w~n", [item, price]), rule(20).
rule(N) :- forall(between(1, N, _), put_char(-)), nl.
lines([], T, T).
lines([item(Name, Count, Price)|More], T0, T) :-
    Amount is Count * Price, line(Name, Amount), T1 is T0 + Amount, lines(More, T1, T).
line(Name, Amount) :- format("~w~t~10|", [Name]), money(Amount), nl.
money(Amount) :- Euros is Amount // 100, Cents is Amount mod 100, format("~d.~|~`0t~d~2+", [Euros, Cents]).
total_line(T) :- write('total'), tab(5), money(T), nl.
