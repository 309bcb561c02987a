% How a box is to be carried. The weight is wrong, so the condition fails.
carried(Box, By) :-
    weight(Box, W),
    (   heavy(W)
    ->  By = crane
    ;   By = hand
    ).

weight(Box, W) :- content(Box, Count), W is Count * 2.
content(b1, 5).

heavy(W) :- scale(S), used(S), W > 50.
scale(s1).
used(_).
