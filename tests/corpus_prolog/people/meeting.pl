% Meetings with constraints over finite domains.
% goal: plan(Ts)
% bug: B #>= A + 2 ==> B #>= A + 1
% blame: after/2
:- use_module(library(clpfd)).
plan([design, build, test]-Ts) :- Ts = [D, B, T], Ts ins 9..16, after(D, B), after(B, T), lunch(Ts), once(label(Ts)).
after(A, B) :- B #>= A + 2.
lunch([]).
lunch([T|Ts]) :- T #\= 12, lunch(Ts).
