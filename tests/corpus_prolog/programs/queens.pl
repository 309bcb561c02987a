:- style_check(-singleton), style_check(-discontiguous).
% goal: queens(5, Q)
% goal: safe(1, 1, [3,5])
queens(N, Qs) :- range(1, N, Ns), place(Ns, [], Qs).
range(H, H, [H]) :- !.
range(L, H, [L|R]) :- L < H, M is L + 1, range(M, H, R).
place([], Qs, Qs).
place(Free, Done, Qs) :- pick(Q, Free, Rest), safe(Q, 1, Done), place(Rest, [Q|Done], Qs).
pick(X, [X|Xs], Xs).
pick(X, [Y|Ys], [Y|Zs]) :- pick(X, Ys, Zs).
safe(_, _, []).
safe(Q, D, [P|Ps]) :- Q =\= P + D, Q =\= P - D, E is D + 1, safe(Q, E, Ps).
