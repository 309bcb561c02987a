% Programs whose capture is timed by bench/prolog.py.
app([], L, L).
app([X|Xs], L, [X|Zs]) :- app(Xs, L, Zs).
rev([], []).
rev([X|Xs], R) :- rev(Xs, R0), app(R0, [X], R).
range(H, H, [H]) :- !.
range(L, H, [L|R]) :- L < H, M is L + 1, range(M, H, R).
reversed(0, _) :- !.
reversed(K, N) :- range(1, N, L), rev(L, R), R = [N|_], J is K - 1, reversed(J, N).

queens(N, Qs) :- range(1, N, Ns), place(Ns, [], Qs).
place([], Qs, Qs).
place(Free, Done, Qs) :- pick(Q, Free, Rest), safe(Q, 1, Done), place(Rest, [Q|Done], Qs).
pick(X, [X|Xs], Xs).
pick(X, [Y|Ys], [Y|Zs]) :- pick(X, Ys, Zs).
safe(_, _, []).
safe(Q, D, [P|Ps]) :- Q =\= P + D, Q =\= P - D, E is D + 1, safe(Q, E, Ps).

fib(0, 0).
fib(1, 1).
fib(N, F) :- N > 1, A is N - 1, B is N - 2, fib(A, X), fib(B, Y), F is X + Y.

% Some ten million inferences, in a tree of calls: 2^Depth leaves, of which one goes wrong.
long(Depth, Sum) :- branch(Depth, 1, Sum).
branch(0, Leaf, Sum) :- !, leaf(Leaf, Sum).
branch(D, Leaf, Sum) :-
    E is D - 1, Left is Leaf * 2, Right is Left + 1,
    branch(E, Left, A), branch(E, Right, B), Sum is A + B.
leaf(Leaf, Value) :- range(1, 30, L), rev(L, [Last|_]), counted(Leaf, Last, Value).
counted(Leaf, Last, Value) :- odd_one(Leaf), !, Value is Last + 1.
counted(_, Last, Last).
odd_one(22222).
