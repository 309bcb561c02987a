:- style_check(-singleton), style_check(-discontiguous).
% goal: rev([1,2,3,4], X)
% goal: app(X, Y, [1,2,3])
% goal: palindrome([a,b,a])
app([], L, L).
app([X|Xs], L, [X|Zs]) :- app(Xs, L, Zs).
rev([], []).
rev([X|Xs], R) :- rev(Xs, R0), app(R0, [X], R).
palindrome(L) :- rev(L, L).
