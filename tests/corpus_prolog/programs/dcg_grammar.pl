:- style_check(-singleton), style_check(-discontiguous).
% goal: parsed([the,dog,chases,a,cat], T)
% goal: parsed([the,dogs,chase,cats], T)
% goal: said(the_cat)
parsed(Words, T) :- phrase(sentence(T), Words).
sentence(s(N, V)) --> noun_phrase(Num, N), verb_phrase(Num, V).
noun_phrase(Num, np(D, N)) --> determiner(Num, D), noun(Num, N).
noun_phrase(plural, np(N)) --> noun(plural, N).
verb_phrase(Num, vp(V, N)) --> verb(Num, V), noun_phrase(_, N).
verb_phrase(Num, vp(V)) --> verb(Num, V).
determiner(_, the) --> [the].
determiner(singular, a) --> [a].
noun(singular, dog) --> [dog].
noun(plural, dog) --> [dogs].
noun(singular, cat) --> [cat].
noun(plural, cat) --> [cats].
verb(singular, chase) --> [chases].
verb(plural, chase) --> [chase].
said(the_cat) :- phrase(noun_phrase(singular, np(the, cat)), [the,cat]).
