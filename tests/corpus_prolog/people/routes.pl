% The shortest route, with mode-directed tabling.
% goal: route(ulm, kiel, D, Where)
% bug: D is D0 + D1 ==> D is D0 + D1 mod 100
% blame: distance/3
:- table distance(_, _, min).
road(ulm, bonn, 380).
road(ulm, erfurt, 330).
road(bonn, bremen, 310).
road(erfurt, bremen, 320).
road(bremen, kiel, 190).
road(bonn, kiel, 520).
leg(A, B, D) :- road(A, B, D).
leg(A, B, D) :- road(B, A, D).
distance(A, B, D) :- leg(A, B, D).
distance(A, C, D) :- distance(A, B, D0), leg(B, C, D1), D is D0 + D1.
route(A, B, D, near) :- distance(A, B, D), D < 700, !.
route(A, B, D, far) :- distance(A, B, D).
