% Ancestors of the ancestors are forgotten: ancestor/2 lacks its second clause.
parent(ann, bob).
parent(bob, cid).
parent(cid, dan).

ancestor(X, Y) :- parent(X, Y).

related(X, Y) :- ancestor(Z, X), ancestor(Z, Y), X \== Y.
