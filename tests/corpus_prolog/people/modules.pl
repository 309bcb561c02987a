% Two modules in one file's reach: a queue is used through its exports.
% goal: served([a, b, c], S)
% bug: put(X, q(F, B), q(F, [X|B])) ==> put(X, q(F, B), q([X|F], B))
% blame: put/3
:- module(shop, [served/2]).
served(People, Served) :- queued(People, q([], []), Q), all_out(Q, Served).
queued([], Q, Q).
queued([P|Ps], Q0, Q) :- put(P, Q0, Q1), queued(Ps, Q1, Q).
put(X, q(F, B), q(F, [X|B])).
get(X, q([X|F], B), q(F, B)) :- !.
get(X, q([], B), Q) :- B = [_|_], reverse(B, F), get(X, q(F, []), Q).
all_out(Q0, [X|Xs]) :- get(X, Q0, Q), !, all_out(Q, Xs).
all_out(_, []).
