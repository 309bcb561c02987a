:- module(invoice, [total/2]).

%!  total(+Lines:list, -Total:number) is det.
total([], 0).
total([line(Price, Count, Rebate)|Lines], Total) :-
    gross(Price, Count, Gross),
    net(Gross, Rebate, Net),
    total(Lines, Rest),
    Total is Net + Rest.

%!  gross(+Price:number, +Count:nonneg, -Gross:number) is det.
gross(Price, Count, Gross) :- Gross is Price * Count.

%!  net(+Gross:number, +Rebate:oneof([none,tenth,half]), -Net:number) is det.
net(Gross, none, Gross).
net(Gross, tenth, Net) :- tenth(Gross, Tenth), Net is Gross - Tenth.
net(Gross, half, Net) :- Net = Gross / 2.

tenth(Amount, Tenth) :- Tenth is Amount // 100.
