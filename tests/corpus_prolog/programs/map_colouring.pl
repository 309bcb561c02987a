:- style_check(-singleton), style_check(-discontiguous).
% goal: coloured(C)
% goal: valid([a-red,b-green,c-blue,d-red])
border(a, b). border(a, c). border(b, c). border(b, d). border(c, d).
colour(red). colour(green). colour(blue).
coloured(C) :- assigned([a,b,c,d], [], C), first_is(red, C).
assigned([], C, C).
assigned([R|Rs], Done, C) :- colour(X), \+ clash(R, X, Done), assigned(Rs, [R-X|Done], C).
clash(R, X, Done) :- listed(S-X, Done), touching(R, S).
touching(R, S) :- border(R, S).
touching(R, S) :- border(S, R).
listed(X, [X|_]).
listed(X, [_|Xs]) :- listed(X, Xs).
first_is(X, C) :- listed(a-X, C), !.
valid([]).
valid([R-X|C]) :- \+ clash(R, X, C), valid(C).
