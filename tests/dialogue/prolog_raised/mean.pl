% The mean of no numbers divides by zero; count/2 forgets to count.
mean(Numbers, Mean) :-
    total(Numbers, Total),
    count(Numbers, Count),
    Mean is Total / Count.

total([], 0).
total([X|Xs], Total) :- total(Xs, Rest), Total is Rest + X.

count([], 0).
count([_|Xs], Count) :- count(Xs, Count).
