:- style_check(-singleton), style_check(-discontiguous).
% goal: checked(person(ann, 30), R)
% goal: checked(person(bob, -1), R)
% goal: all_checked([person(a, 5), person(b, x)], L)
checked(P, R) :- catch(( valid(P), R = ok ), bad(Why), R = bad(Why)).
valid(person(Name, Age)) :- named(Name), aged(Age).
named(Name) :- ( atom(Name) -> true ; throw(bad(name)) ).
aged(Age) :- ( integer(Age) -> true ; throw(bad(type)) ), ( Age >= 0 -> true ; throw(bad(range)) ).
all_checked([], []).
all_checked([P|Ps], [R|Rs]) :- checked(P, R), all_checked(Ps, Rs).
