:- style_check(-singleton), style_check(-discontiguous).
% goal: tokens('x1 := 23 + y', T)
% goal: tokens('12 34', T)
tokens(A, Ts) :- atom_codes(A, Cs), phrase(all(Ts), Cs), !.
all(Ts) --> blank, !, all(Ts).
all([T|Ts]) --> token(T), !, all(Ts).
all([]) --> [].
blank --> [C], { code_type(C, space) }.
token(num(N)) --> digits([C|Cs]), { number_codes(N, [C|Cs]) }.
token(name(A)) --> letter(C), others(Cs), { atom_codes(A, [C|Cs]) }.
token(assign) --> ":=".
token(sign(A)) --> [C], { code_type(C, punct), atom_codes(A, [C]) }.
digits([C|Cs]) --> digit(C), digits(Cs).
digits([C]) --> digit(C).
digit(C) --> [C], { code_type(C, digit) }.
letter(C) --> [C], { code_type(C, alpha) }.
others([C|Cs]) --> ( letter(C) ; digit(C) ), !, others(Cs).
others([]) --> [].
