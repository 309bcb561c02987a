:- style_check(-singleton), style_check(-discontiguous).
% goal: value([2,+,3,*,4], V)
% goal: value(['(',2,+,3,')',*,4,-,1], V)
% goal: value([7,-,2,-,1], V)
value(Ts, V) :- phrase(expression(V), Ts), !.
expression(V) --> term(T), rest(T, V).
rest(A, V) --> [+], term(T), { B is A + T }, rest(B, V).
rest(A, V) --> [-], term(T), { B is A - T }, rest(B, V).
rest(V, V) --> [].
term(V) --> factor(F), more(F, V).
more(A, V) --> [*], factor(F), { B is A * F }, more(B, V).
more(V, V) --> [].
factor(N) --> [N], { number(N) }.
factor(V) --> ['('], expression(V), [')'].
