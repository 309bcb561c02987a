% A left-recursive grammar, which needs tabling.
% goal: value("7-2-1+4", V)
% bug: V is V0 - V1 ==> V is V1 - V0
% blame: expr//1
:- table expr//1.
value(Text, V) :- string_codes(Text, Codes), phrase(expr(V), Codes), !.
expr(V) --> expr(V0), "+", term(V1), { V is V0 + V1 }.
expr(V) --> expr(V0), "-", term(V1), { V is V0 - V1 }.
expr(V) --> term(V).
term(V) --> digits(Ds), { Ds = [_|_], number_codes(V, Ds) }.
digits([D|Ds]) --> [D], { code_type(D, digit) }, digits(Ds).
digits([]) --> [].
