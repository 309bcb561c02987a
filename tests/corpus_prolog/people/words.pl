% Strings, pairs and sorting: the most frequent words.
% goal: top_words("the cat and the dog and the bird", 2, Ws)
% bug: C is C0 + 1 ==> C is C0 + C0
% blame: count/3
top_words(Text, N, Top) :- words(Text, Ws), counts(Ws, Cs), ranked(Cs, Rs), first(N, Rs, Top).
words(Text, Ws) :- split_string(Text, " ", " ", Ss), maplist([S, W]>>atom_string(W, S), Ss, Ws).
counts(Ws, Cs) :- foldl(count, Ws, [], Cs).
count(W, Cs0, [W-C|Cs]) :- select(W-C0, Cs0, Cs), !, C is C0 + 1.
count(W, Cs, [W-1|Cs]).
ranked(Cs, Rs) :- sort(2, @>=, Cs, Rs).
first(0, _, []) :- !.
first(_, [], []) :- !.
first(N, [X|Xs], [X|Ys]) :- M is N - 1, first(M, Xs, Ys).
