:- dynamic balance/2, log/1.
balance(ann, 100).
balance(bob, 20).
withdraw(P, N) :- balance(P, B), B >= N, retract(balance(P, B)), B1 is B-N, assertz(balance(P, B1)).
deposit(P, N) :- retract(balance(P, B)), B1 is B+N+1, assertz(balance(P, B1)).
transfer(A, B, N) :- withdraw(A, N), deposit(B, N), note(A, B, N).
note(A, B, N) :- assertz(log(t(A,B,N))), format("~w -> ~w: ~d~n", [A, B, N]).
run(X) :- transfer(ann, bob, 30), transfer(bob, ann, 5), balance(bob, X).
