% Accounts as dynamic facts, a log, and a line for each transfer.
% goal: day(B)
% bug: assertz(balance(P, B1)), note ==> assertz(balance(P, B)), note
% blame: deposit/2
:- dynamic balance/2, log/1.
balance(ann, 100).
balance(bob, 20).
withdraw(P, N) :- balance(P, B), B >= N, retract(balance(P, B)), B1 is B - N, assertz(balance(P, B1)).
deposit(P, N) :- retract(balance(P, B)), B1 is B + N, assertz(balance(P, B1)), note(P, N).
note(P, N) :- assertz(log(in(P, N))).
transfer(A, B, N) :- withdraw(A, N), deposit(B, N), format("~w pays ~w ~d~n", [A, B, N]).
transfer(A, _, N) :- \+ ( balance(A, B), B >= N ), assertz(log(refused(A, N))).
day(B) :- transfer(ann, bob, 30), transfer(bob, ann, 5), transfer(bob, ann, 500), balance(bob, B).
