:- style_check(-singleton), style_check(-discontiguous).
% goal: bsort([4,2,3,1], S)
bsort(L, S) :- swapped(L, M), !, bsort(M, S).
bsort(L, L).
swapped([X,Y|R], [Y,X|R]) :- X > Y.
swapped([X|R], [X|S]) :- swapped(R, S).
