:- begin_tests(invoice).

test(gross, Gross == 60) :- invoice:gross(20, 3, Gross).
test(none, Net == 60) :- invoice:net(60, none, Net).
test(empty, Total == 0) :- total([], Total).
test(tenth, Total == 64) :- total([line(20, 3, tenth), line(10, 1, none)], Total).
test(half, Total == 30) :- total([line(20, 3, half)], Total).

:- end_tests(invoice).
