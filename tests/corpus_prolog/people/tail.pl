% A long loop: tail recursion over many steps.
% goal: checksum(2000, S)
% bug: S1 is (S0 * 31 + N) mod 1009 ==> S1 is (S0 * 31 + N mod 1500) mod 1009
% blame: mixed/3
checksum(N, S) :- loop(N, 7, S).
loop(0, S, S) :- !.
loop(N, S0, S) :- mixed(N, S0, S1), M is N - 1, loop(M, S1, S).
mixed(N, S0, S1) :- S1 is (S0 * 31 + N) mod 1009.
