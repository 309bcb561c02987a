% Sorts by insertion. The comparison in the second clause of insert/3 is the wrong way round.
sorted([], []).
sorted([X|Xs], Sorted) :-
    sorted(Xs, Rest),
    insert(X, Rest, Sorted).

insert(X, [], [X]).
insert(X, [Y|Ys], [X,Y|Ys]) :- X >= Y, !.
insert(X, [Y|Ys], [Y|Zs]) :-
    insert(X, Ys, Zs).
