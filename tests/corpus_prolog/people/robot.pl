% A machine with global variables and output: b_setval and nb_setval.
% goal: walk([f, f, r, f, l, f], At)
% bug: turned(r, n, e). ==> turned(r, n, w).
% blame: turned/3
walk(Steps, at(X, Y, D)) :- nb_setval(steps, 0), moves(Steps, at(0, 0, n), at(X, Y, D)), nb_getval(steps, N), format("~d steps~n", [N]).
moves([], P, P).
moves([S|Ss], P0, P) :- move(S, P0, P1), counted(S), moves(Ss, P1, P).
counted(f) :- !, nb_getval(steps, N0), N is N0 + 1, nb_setval(steps, N).
counted(_).
move(f, at(X, Y, D), at(X1, Y1, D)) :- delta(D, DX, DY), X1 is X + DX, Y1 is Y + DY.
move(r, at(X, Y, D), at(X, Y, E)) :- turned(r, D, E).
move(l, at(X, Y, D), at(X, Y, E)) :- turned(r, E, D).
turned(r, n, e).
turned(r, e, s).
turned(r, s, w).
turned(r, w, n).
delta(n, 0, 1).
delta(s, 0, -1).
delta(e, 1, 0).
delta(w, -1, 0).
