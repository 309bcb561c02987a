% Who can be reached, in a graph with circles; the missing edge is the fault.
% goal: groups(G)
% bug: knows(eve, fay).\n ==> 
% blame: knows/2
:- table reach/2.
knows(ann, bob).
knows(bob, cid).
knows(cid, ann).
knows(dan, eve).
knows(eve, fay).
mutual(A, B) :- knows(A, B).
mutual(A, B) :- knows(B, A).
reach(A, B) :- mutual(A, B).
reach(A, C) :- reach(A, B), mutual(B, C).
group(A, G) :- findall(B, reach(A, B), Bs), sort(Bs, G).
groups(Gs) :- findall(G, ( member(A, [ann, dan, fay]), group(A, G) ), Gs0), sort(Gs0, Gs).
