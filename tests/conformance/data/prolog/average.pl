% MacLarty, Somogyi & Brown 2005, section 5; the listing is lost, and this is what its session shows.
average([], Sum, Count, Average) :- Average is Sum / float(Count + 1).
average([X|Xs], Sum, Count, Average) :-
    Sum1 is Sum + X,
    Count1 is Count + 1,
    average(Xs, Sum1, Count1, Average).
