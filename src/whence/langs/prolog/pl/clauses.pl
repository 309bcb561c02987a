/*  Writes clauses: their location, constructs, and the occurrences of variables. A part of
    capture.pl.
*/

clause_number(Ref, Number) :- known_clause(Ref, Number), !.
clause_number(Ref, Number) :-
    flag(whence_clauses, Number, Number + 1),
    assertz(known_clause(Ref, Number)),
    describe_clause(Ref, Number).

describe_clause(Ref, Number) :-
    (   clause_property(Ref, file(File)), clause_property(Ref, line_count(Line))
    ->  true ; File = '', Line = 0 ),
    (   nth_clause(_, Nth, Ref) -> true ; Nth = 0 ),
    (   library_file(File) -> Shape = [[], []]
    ;   clause_shape(Ref, Shape) -> true
    ;   Shape = [[], []] ),
    Shape = [Head, Goals],
    findall(C, construct(Ref, C), Constructs),
    findall(P, ( instruction(Ref, P, _, I), I == i_cut ), Cuts),
    findall([P, Path], literal_position(Ref, P, Path), Positions),
    out(Out),
    line(Out, [clause, Number, Nth, Line, Head, Goals, Constructs, Cuts, Positions, text(File)]).

instruction(Ref, PC, Next, Instruction) :- instruction(Ref, 0, PC, Next, Instruction).
instruction(Ref, From, PC, Next, Instruction) :-
    catch('$fetch_vm'(Ref, From, After, This), _, fail),
    (   PC = From, Next = After, Instruction = This
    ;   instruction(Ref, After, PC, Next, Instruction) ).

/*  [Start, Else, Kind, End of the condition]: control constructs that the compiler put in line. */
construct(Ref, [PC, Else, Kind, End]) :-
    instruction(Ref, PC, Next, Instruction),
    compound(Instruction),
    Instruction =.. [Op|Arguments],
    construct_kind(Op, Kind),
    last(Arguments, Jump), integer(Jump), Else is Next + Jump,
    (   Kind =\= 0, Kind =\= 1, Arguments = [Variable|_],
        instruction(Ref, Commit, _, Committing), Commit > PC, compound(Committing),
        Committing =.. [Cut, Variable|_], memberchk(Cut, [c_cut, c_lcut, c_softcut, c_fastcut])
    ->  End = Commit ; End = Else ).

construct_kind(c_or, 0).
construct_kind(c_not, 1).
construct_kind(c_ifthenelse, 2).
construct_kind(c_fastcond, 2).
construct_kind(c_softif, 3).

literal_position(Ref, Next, Path) :-
    instruction(Ref, _, Next, _),
    catch('$clause_term_position'(Ref, Next, Path), _, fail), is_list(Path).

/*  Which variables stand in which argument, of the head and of each goal of the body; numbers
    stand for variables, and a goal has its path in the clause. */
clause_shape(Ref, [Head, Goals]) :-
    clause(Head0, Body, Ref), strip_module(Head0, _, Plain),
    term_variables(Plain-Body, Variables),
    number_variables(Variables, 1),
    argument_variables(Plain, Head),
    findall([Path, Arguments],
            ( literal(Body, [2], Path, Goal), argument_variables(Goal, Arguments) ),
            Goals).

number_variables([], _).
number_variables(['$whence_var'(N)|More], N) :- Next is N + 1, number_variables(More, Next).

argument_variables('$whence_var'(_), []) :- !.
argument_variables(Goal0, Lists) :-
    strip_module(Goal0, _, Goal),
    (   compound(Goal)
    ->  Goal =.. [_|Arguments],
        findall(Numbers, ( member(A, Arguments), variables_in(A, Numbers) ), Lists)
    ;   Lists = [] ).

variables_in(Term, Numbers) :-
    findall(N, ( sub_term(Sub, Term), compound(Sub), Sub = '$whence_var'(N) ), Found),
    sort(Found, Numbers).

literal('$whence_var'(N), Path, Path, '$whence_var'(N)) :- !.
literal(Goal, Path, Found, Literal) :-
    inner(Goal, Inner), !,
    nth1(Nth, Inner, Part), append(Path, [Nth], Down), literal(Part, Down, Found, Literal).
literal(true, _, _, _) :- !, fail.
literal(Goal, Path, Path, Goal).

inner((A, B), [A, B]).
inner((A ; B), [A, B]).
inner((A -> B), [A, B]).
inner((A *-> B), [A, B]).
inner(\+ A, [A]).
