% The average of a list, with an accumulator. The base clause divides by one too many.
report(Name, Numbers, summary(Name, Count, Average)) :-
    length(Numbers, Count),
    average(Numbers, 0, 0, Average).

average([], Sum, Count, Average) :- Average is Sum / (Count + 1).
average([X|Xs], Sum0, Count0, Average) :-
    Sum is Sum0 + X,
    Count is Count0 + 1,
    average(Xs, Sum, Count, Average).
