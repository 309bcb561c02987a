:- style_check(-singleton), style_check(-discontiguous).
% goal: solve(P)
solve(P) :- search(s(left,left,left,left), [s(left,left,left,left)], P).
search(s(right,right,right,right), Seen, P) :- turned(Seen, [], P).
search(S, Seen, P) :- move(S, T), safe(T), \+ been(T, Seen), search(T, [T|Seen], P).
move(s(F,W,F,C), s(G,W,G,C)) :- other(F, G).
move(s(F,W,G,C), s(H,W,G,C)) :- other(F, H).
move(s(F,F,G,C), s(H,H,G,C)) :- other(F, H).
move(s(F,W,G,F), s(H,W,G,H)) :- other(F, H).
other(left, right).
other(right, left).
safe(s(F,W,G,C)) :- \+ eaten(F, W, G), \+ eaten(F, G, C).
eaten(F, X, X) :- F \== X.
been(S, [S|_]) :- !.
been(S, [_|T]) :- been(S, T).
turned([], L, L).
turned([X|Xs], L, R) :- turned(Xs, [X|L], R).
