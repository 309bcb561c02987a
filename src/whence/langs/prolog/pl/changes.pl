/*  Writes what the program changes besides the bindings of variables: clauses, global variables,
    flags, records, and what it prints. A part of capture.pl.

    Every such change goes through a library predicate, which is seen even if another library
    predicate called it. A change belongs to the nearest call that was reported.
*/

/*  changes_at(Port, Goal): at this port it is known what a library predicate changes. */
changes_at(exit, assert(_)).
changes_at(exit, asserta(_)).
changes_at(exit, assertz(_)).
changes_at(exit, assert(_, _)).
changes_at(exit, asserta(_, _)).
changes_at(exit, assertz(_, _)).
changes_at(call, retract(_)).
changes_at(exit, retract(_)).
changes_at(fail, retract(_)).
changes_at(call, retractall(_)).
changes_at(call, abolish(_)).
changes_at(call, abolish(_, _)).
changes_at(call, erase(_)).
changes_at(call, nb_setval(_, _)).
changes_at(call, b_setval(_, _)).
changes_at(call, flag(_, _, _)).
changes_at(exit, recorda(_, _)).
changes_at(exit, recordz(_, _)).
changes_at(exit, recorda(_, _, _)).
changes_at(exit, recordz(_, _, _)).
changes_at(exit, nb_getval(_, _)).
changes_at(exit, b_getval(_, _)).
changes_at(exit, recorded(_, _)).
changes_at(exit, recorded(_, _, _)).

send_changes(call, retract(C), Frame, _) :- !,
    retractall(retracting(Frame, _)),
    (   catch(clause_of(C, Frame, user, Home:N/A, Clause), _, fail), from_file(Home:N/A)
    ->  ( Clause = (Head :- _) -> true ; Head = Clause ),
        assertz(retracting(Frame, goal(Home:N/A, Head)))
    ;   true ).
send_changes(Port, Goal, Frame, State) :-
    ( Goal = retract(_) -> send_retracted(Port, Goal, Frame, State) ; true ),
    prolog_frame_attribute(Frame, context_module, M),
    (   Port == call -> visible_parent(Frame, -1, Owner, _) ; Owner = Frame ),   % it is not reported yet
    forall(catch(change(Port, Goal, Frame, M, What, Name, Term), _, fail),
           send_change(Owner, State, What, Name, Term)).

/*  retract/1 calls the predicate: an answer, or that there is none, may be the fault of a clause in
    the file. So a call of it is written. Frames of such calls have negative numbers. */
:- dynamic retracting/2.
from_file(M:N/A) :- file_of(M:N/A, _, _).

/*  Prolog takes the file of a predicate from its clauses, so it is lost when they were removed and
    collected. The files of predicates that change are kept from the start of the first run on. */
:- dynamic first_file/3.
file_of(PI, File, Line) :- first_file(PI, File0, Line0), !, File = File0, Line = Line0.
file_of(M:N/A, File, Line) :-
    functor(Head, N, A),
    predicate_property(M:Head, file(File)), predicate_property(M:Head, line_count(Line)).
keep_files :-
    forall(( current_module(M), \+ module_property(M, class(system)),
             \+ module_property(M, class(library)), current_predicate(_, M:Head),
             \+ predicate_property(M:Head, imported_from(_)),
             predicate_property(M:Head, dynamic), functor(Head, N, A),
             \+ first_file(M:N/A, _, _), file_of(M:N/A, File, Line) ),
           assertz(first_file(M:N/A, File, Line))).

send_retracted(exit, retract(C), Frame, State) :- !,
    (   retracting(Frame, goal(PI, Head))
    ->  clause_of(C, Frame, user, _, Clause),
        ( Clause = (Found :- _) -> true ; Found = Clause ),
        send_read(Frame, PI, Head, State),
        keep(State, Found, Term, States), Of is -Frame, out(Out),
        format(Out, 'x\t~d\t1\t~d\t~d\n', [Of, Term, States]),
        retractall(retracting(Frame, _)), assertz(retracting(Frame, found))
    ;   true ).
send_retracted(fail, _, Frame, State) :-
    (   retract(retracting(Frame, goal(PI, Head)))
    ->  send_read(Frame, PI, Head, State), Of is -Frame, out(Out), format(Out, 'f\t~d\n', [Of])
    ;   true ).
send_read(Frame, PI, Head, State) :-
    number_of(PI, Number, _),
    nearest(Frame, -1, Caller, _), Caller \== 0, Of is -Frame,
    state(last_called, State, Last), send_call(State, Of, Head, Number, Caller, -1),
    set_state(last_called, State, Last).

change(exit, Goal, Frame, M, added, Name, Clause) :-
    memberchk(Goal, [assert(C), asserta(C), assertz(C), assert(C, _), asserta(C, _), assertz(C, _)]), !,
    clause_of(C, Frame, M, Name, Clause).
change(exit, retract(C), Frame, M, removed, Name, Clause) :- !, clause_of(C, Frame, M, Name, Clause).
change(call, retractall(H), Frame, M, removed, Name, Clause) :- !,
    clause_of(H, Frame, M, Name, Head), home_module(Name, Home),
    copy_term(Head, Pattern), clause(Home:Pattern, Body), clause_term(Pattern, Body, Clause).
change(call, abolish(PI), _, M, removed, Name, Clause) :- !, abolished(PI, M, Name, Clause).
change(call, abolish(N, A), _, M, removed, Name, Clause) :- !, abolished(N/A, M, Name, Clause).
change(call, erase(Ref), _, _, removed, Name, Clause) :- clause(Head, Body, Ref), !,
    strip_module(Head, M, Plain), functor(Plain, N, A), name_of(M, N, A, Name),
    clause_term(Plain, Body, Clause).
change(call, erase(Ref), _, _, removed, 'the record of'/Key, Value) :- recorded(Key, Value, Ref).
change(call, nb_setval(K, V), _, _, set, K, V).
change(call, b_setval(K, V), _, _, set, K, V).
change(call, flag(K, _, Expression), _, _, set, flag/K, V) :-
    flag(K, Old, Old), ground(Expression), V is Expression.
change(exit, nb_getval(K, V), _, _, got, K, V).
change(exit, b_getval(K, V), _, _, got, K, V).
change(exit, Goal, _, _, added, 'the record of'/K, V) :-
    memberchk(Goal, [recorda(K, V), recordz(K, V), recorda(K, V, _), recordz(K, V, _)]), !.
change(exit, Goal, _, _, got, 'the record of'/K, V) :-
    memberchk(Goal, [recorded(K, V), recorded(K, V, _)]), !.

/*  The module of a goal is that of its caller, unless it is named. */
clause_of(C0, Frame, _, Name, Clause) :-
    calling_module(Frame, M0), strip_module(M0:C0, M1, C),
    (   C = (Head0 :- Body) -> strip_module(M1:Head0, M, Head), clause_term(Head, Body, Clause)
    ;   M = M1, Head = C, Clause = C ),
    functor(Head, N, A), name_of(M, N, A, Name).
calling_module(Frame, M) :-
    (   prolog_frame_attribute(Frame, goal, Goal), Goal = _:G, G =.. [_, M:_|_], atom(M) -> true
    ;   visible_parent(Frame, -1, Parent, _), Parent \== 0,
        predicate_of(Parent, M:_), M \== system -> true
    ;   M = user ).
name_of(M, N, A, Home:N/A) :-
    functor(Head, N, A), ( predicate_property(M:Head, imported_from(Home)) -> true ; Home = M ).
home_module(M:_/_, M).
clause_term(Head, true, Head) :- !.
clause_term(Head, Body, (Head :- Body)).

abolished(PI0, M0, Name, Clause) :-
    strip_module(M0:PI0, M, N/A), name_of(M, N, A, Name), functor(Head, N, A),
    clause(M:Head, Body), clause_term(Head, Body, Clause).

send_change(Frame, State, What, Name0, Term) :-
    (   root(_), Frame \== 0, nearest(Frame, -1, Caller, _), Caller \== 0, \+ own_change(Name0)
    ->  changed_by(What, Name0), keep(State, Term, Number, _),
        ( Name0 = M:N/A -> Module = M, Name = N/A ; Module = '', Name = Name0 ),
        out(Out), line(Out, [j, Caller, What, text(Module), text(Name), Number])
    ;   true ).
/*  Changes that no port shows, as in library predicates that are not traced: a predicate has another
    number of clauses than it should have. */
:- dynamic clauses_before/2, clauses_changed/2.

count_clauses :-
    retractall(clauses_before(_, _)), retractall(clauses_changed(_, _)),
    forall(( changeable(M, Head), functor(Head, N, A), clause_count(M:N/A, Count) ),
           assertz(clauses_before(M:N/A, Count))).
clause_count(M:N/A, Count) :-
    functor(Head, N, A), ( predicate_property(M:Head, number_of_clauses(Count)) -> true ; Count = 0 ).
changed_by(added, PI) :- changed_clauses(PI, 1).
changed_by(removed, PI) :- changed_clauses(PI, -1).
changed_by(set, _).
changed_by(got, _).
changed_clauses(PI, By) :-
    ( retract(clauses_changed(PI, Sum0)) -> true ; Sum0 = 0 ),
    Sum is Sum0 + By, assertz(clauses_changed(PI, Sum)).
send_unseen_changes(Out) :-
    (   changeable(M, Head), functor(Head, N, A), clause_count(M:N/A, Count),
        ( clauses_before(M:N/A, Before) -> true ; Before = 0 ),
        ( clauses_changed(M:N/A, Sum) -> true ; Sum = 0 ),
        Count =\= Before + Sum
    ->  line(Out, [n, 0, clauses])
    ;   true ).

own_change(M:_) :- sub_atom(M, 0, _, _, whence), !.
own_change(_:'whence goal'/_).
own_change(whence_state).

% --- output -------------------------------------------------------------------------------------

/*  Prolog copies what is printed to a file, as protocol/1 does: to whatever stream the program
    prints, and however. */
:- dynamic copied_to/2.

output_copy(Copy) :- copied_to(Copy, _), !.
output_copy(none).

copy_output(File) :-
    retractall(copied_to(_, _)),
    (   File \== '', catch(protocol(File), _, fail), stream_property(Copy, file_name(File))
    ->  assertz(copied_to(Copy, File)) ; true ).
end_copy :- ( retract(copied_to(_, _)) -> noprotocol ; true ).

send_printed(State) :-
    state(output, State, Copy),
    (   Copy == none -> true
    ;   character_count(Copy, Count), state(printed, State, Count) -> true
    ;   character_count(Copy, Now),
        set_state(printed, State, Now), out(Out), format(Out, 'o\t~d\n', [Now]) ).
