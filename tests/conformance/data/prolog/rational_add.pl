% MacLarty, Somogyi & Brown 2005, Fig. 6, with what is bound nowhere read as the data says.
rational_add(HV1, HV2, HV3) :-
    HV1 = r(An, Ad),
    HV2 = r(Bn, Bd),
    lcm(Ad, Bd, Cd),
    '//'(Cd, Ad, CA),
    '//'(Cd, Bd, CB),
    '*'(An, CA, Ap),
    '*'(Bn, CB, Bp),
    '+'(Ap, Bp, Cn),
    HV3 = r(Cn, Cd).

lcm(A, B, C) :- G is gcd(A, B), C is A * B // G.
'//'(A, B, C) :- C is A // B.
'*'(A, B, C) :- C is A * B.
'+'(A, B, C) :- C is A + B.
