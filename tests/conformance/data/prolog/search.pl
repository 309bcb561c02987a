% MacLarty, Somogyi & Brown 2005, section 5.
search(Tree, K, V) :-
    Tree = tree(K0, V0, Left, Right),
    compare(Result, K0, K),
    (   Result = (=)
    ->  V = V0
    ;   Result = (<)
    ->  search(Right, K, V)
    ;   search(Left, K, V)
    ).
