/*  Parts of terms, for the search for their origins: included in capture.pl.

    A part is a path of argument numbers, as arg/3 counts them; a goal's own arguments come first.
    A variable is identified by all its occurrences in the same term, because the garbage collector
    changes the names of variables.
*/

/*  Whether a kept term is bound at a path, or has a variable there or on the way to it. Paths are
    run-length encoded as Nth-Times, because those into long lists are long. */
send_slot(Number, Path) :-
    out(Out),
    (   term_of(Number, Term0), bare(Term0, Term), slot(Path, Term, 0, Depth, Found)
    ->  (   var(Found)
        ->  findall(Place, place_of(Term, Found, Place), Places),
            line(Out, [slot, free, Depth, Places, '', 0])
        ;   callable(Found)
        ->  functor(Found, Name, Arity), line(Out, [slot, bound, Depth, [], text(Name), Arity])
        ;   line(Out, [slot, bound, Depth, [], '', 0]) )
    ;   line(Out, [slot, gone, 0, [], '', 0]) ).

/*  A goal without the module qualifiers of its meta-arguments. Prolog adds them while the goal runs,
    so the call and its answer would differ. */
bare(Goal, Bare) :- nonvar(Goal), Goal = '$whence_constrained'(Plain, _), !, bare(Plain, Bare).
bare(Goal, Bare) :-
    compound(Goal), \+ Goal = '$whence_text'(_),
    catch(predicate_property(user:Goal, meta_predicate(Modes)), _, fail), !,
    Goal =.. [Name|Arguments0], Modes =.. [_|Kinds],
    maplist(bare_argument, Kinds, Arguments0, Arguments),
    Bare =.. [Name|Arguments].
bare(Goal, Goal).

bare_argument(Kind, Argument, Bare) :-
    ( integer(Kind) ; memberchk(Kind, [^, //, :]) ), nonvar(Argument), Argument = Module:Plain,
    atom(Module), !, Bare = Plain.
bare_argument(_, Argument, Argument).

slot([], Found, Depth, Depth, Found).
slot([Nth-Times|Path], Term, Depth0, Depth, Found) :-
    (   var(Term) -> Depth = Depth0, Found = Term
    ;   Times =:= 0 -> slot(Path, Term, Depth0, Depth, Found)
    ;   compound(Term), arg(Nth, Term, Part),
        Depth1 is Depth0 + 1, Less is Times - 1,
        slot([Nth-Less|Path], Part, Depth1, Depth, Found) ).

place_of(Term, Variable, [Nth|Place]) :-
    compound(Term), arg(Nth, Term, Part), \+ ground(Part), variable_at(Part, Variable, Place).
variable_at(Term, Variable, []) :- Term == Variable.
variable_at(Term, Variable, [Nth|Place]) :-
    compound(Term), arg(Nth, Term, Part), variable_at(Part, Variable, Place).

/*  The occurrences of a clause's variables: [Number, Path of the goal, Path in it]; the head's path
    is empty. Then the goals: [Path, Name, Arity]. `gone` if the clause was erased. */
send_places(Number) :-
    out(Out),
    (   known_clause(Ref, Number), catch(clause(Head0, Body, Ref), _, fail)
    ->  strip_module(Head0, _, Head),
        term_variables(Head-Body, Variables),
        number_variables(Variables, 1),
        findall([N, Goal, Path], clause_place(Head, Body, N, Goal, Path), Places),
        findall([Path, Name, Arity],
                ( literal(Body, [2], Path, Goal0), strip_module(Goal0, _, Goal),
                  Goal \= '$whence_var'(_), functor(Goal, Name, Arity) ),
                Goals),
        with_output_to(string(Text), json_goals(Goals, '[')),
        line(Out, [places, Places, text(Text)])
    ;   line(Out, [places, gone, '[]']) ).

json_goals([], Open) :- ( Open == '[' -> write('[]') ; write(']') ).
json_goals([[Path, Name, Arity]|More], Open) :-
    write(Open), format('[~w,', [Path]), json_text(Name), format(',~d]', [Arity]),
    json_goals(More, ',').

clause_place(Head, _, N, [], Path) :- numbered_at(Head, N, Path).
clause_place(_, Body, N, Goal, Path) :-
    literal(Body, [2], Goal, Literal0), strip_module(Literal0, _, Literal1),
    Literal1 \= '$whence_var'(_), bare(Literal1, Literal), numbered_at(Literal, N, Path).

numbered_at('$whence_var'(N), N, Path) :- !, Path = [].
numbered_at(Term, N, [Nth|Path]) :- compound(Term), arg(Nth, Term, Part), numbered_at(Part, N, Path).

/*  The paths of a goal's variables, by their names. */
send_names(Bindings, Goal, Out) :-
    findall(Name, member(Name=_, Bindings), Names),
    forall(member(Name, Names),
           ( memberchk(Name=Variable, Bindings), var(Variable),
             findall(Place, variable_at(Goal, Variable, Place), Places)
           ->  line(Out, [name, text(Name), Places])
           ;   true )).

% --- the arguments of a term as JSON ------------------------------------------------------------

/*  All arguments of a term, or one part of it, within bounds on the number of parts and their
    depth. List items beyond the bounds are counted. */
send_values(Number, Which) :-
    out(Out),
    term_of(Number, Term0), bare(Term0, Term), names(Term, Names),
    (   Which == all
    ->  ( compound(Term), Term \= '$whence_text'(_) -> Term =.. [_|Values] ; Values = [] )
    ;   slot(Which, Term, 0, _, Value), Values = [Value] ),
    \+ \+ ( bind_names(Names), State = left(2000),
            with_output_to(string(Text), json_list(Values, 40, State)),
            line(Out, [values, text(Text)]) ).

bind_names([]).
bind_names([Name='$whence_name'(Name)|More]) :- bind_names(More).

json_list(Items, Depth, State) :- write('['), json_items(Items, Depth, State), write(']').
json_items([], _, _).
json_items([Item], Depth, State) :- !, json(Item, Depth, State).
json_items([Item|More], Depth, State) :-
    json(Item, Depth, State), write(','), json_items(More, Depth, State).

json('$whence_name'(Name), _, _) :- !, json_text(Name).
json(Term, Depth, State) :- Term = [_|_], Depth > 0, !,
    Deeper is Depth - 1,
    list_parts(Term, State, Items, Omitted, Tail),
    write('{"items":'), json_list(Items, Deeper, State),
    format(',"omitted":~d', [Omitted]),
    (   Tail == [] -> true ; write(',"tail":'), json(Tail, Deeper, State) ),
    write('}').
json(Term, Depth, State) :- compound(Term), Depth > 0, arg(1, State, Left), Left > 0, !,
    Deeper is Depth - 1,
    Term =.. [Name|Arguments], length(Arguments, Count),
    Rest is Left - Count, nb_setarg(1, State, Rest),
    format('{"functor":', []), format(string(Shown), "~q", [Name]), json_text(Shown),
    write(',"arguments":'), json_list(Arguments, Deeper, State), write('}').
json(Term, _, _) :- compound(Term), !, json_text("…").
json(Term, _, _) :- format(string(Text), "~q", [Term]), json_text(Text).

/*  The items of a list that there is room for, the number of the others, and the list's tail. */
list_parts(List, State, Items, Omitted, Tail) :-
    arg(1, State, Left),
    list_items(List, Left, Items, Rest, Room),
    nb_setarg(1, State, Room),
    (   Rest = [_|_] -> '$skip_list'(Omitted, Rest, Tail) ; Omitted = 0, Tail = Rest ).
list_items([Item|More], Left, [Item|Items], Rest, Room) :- Left > 0, !,
    Less is Left - 1, list_items(More, Less, Items, Rest, Room).
list_items(Rest, Room, [], Rest, Room).

json_text(Text) :-
    string_codes(Text, Codes), put_char('"'), forall(member(C, Codes), json_code(C)), put_char('"').
json_code(C) :- ( C =:= 0'" ; C =:= 0'\\ ), !, put_char('\\'), put_code(C).
json_code(C) :- C < 32, !, format('\\u~|~`0t~16r~4+', [C]).
json_code(C) :- put_code(C).
