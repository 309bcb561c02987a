:- style_check(-singleton), style_check(-discontiguous).
% goal: pour_until(2, P)
pour_until(Goal, P) :- search([[j(0,0)]], Goal, R), turned(R, [], P).
search([[S|P]|_], Goal, [S|P]) :- done(S, Goal), !.
search([P|Ps], Goal, R) :-
    P = [S|_], findall([T|P], ( step(S, T), \+ seen(T, P) ), New), glued(Ps, New, Next),
    search(Next, Goal, R).
done(j(X,_), X).
done(j(_,X), X).
step(j(_,Y), j(4,Y)).
step(j(X,_), j(X,3)).
step(j(_,Y), j(0,Y)).
step(j(X,_), j(X,0)).
step(j(X,Y), j(A,B)) :- least(X, 3 - Y, D), D > 0, A is X - D, B is Y + D.
step(j(X,Y), j(A,B)) :- least(Y, 4 - X, D), D > 0, A is X + D, B is Y - D.
least(A, B, M) :- M is min(A, B).
seen(S, [S|_]) :- !.
seen(S, [_|P]) :- seen(S, P).
glued([], L, L).
glued([X|Xs], L, [X|Zs]) :- glued(Xs, L, Zs).
turned([], L, L).
turned([X|Xs], L, R) :- turned(Xs, [X|L], R).
