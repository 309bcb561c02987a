/*  Slips made in a program: swipl prolog_mutation.pl FILE writes a JSON object a line for each.

    A slip changes one clause, or drops it; all else of the file stays as it is, so that lines and
    the other clauses are those of the original. Made of terms, so that every mutant can be read.
*/
:- use_module(library(clpfd)).
:- use_module(library(http/json)).
:- initialization(main, main).

main([File]) :-
    setup_call_cleanup(open(File, read, In), clauses(In, Clauses), close(In)),
    findall(Name, ( member(c(T, _, _, _, _), Clauses), predicate(T, Name/_) ), Names),
    findall(A, ( member(c(T, _, _, _, _), Clauses), constant(T, A) ), Constants0),
    sort(Constants0, Constants),
    forall(( member(c(T, Bindings, Line, From, To), Clauses), slip(T, Names, Constants, Kind, New) ),
           tell(T, Bindings, Line, From, To, Kind, New)).

clauses(In, Clauses) :-
    read_term(In, T, [variable_names(B), term_position(P), module(user)]),
    (   T == end_of_file -> Clauses = []
    ;   T = (:- _) -> clauses(In, Clauses)
    ;   stream_position_data(line_count, P, Line), stream_position_data(char_count, P, From),
        character_count(In, To),
        Clauses = [c(T, B, Line, From, To)|More], clauses(In, More) ).

tell(T, Bindings, Line, From, To, Kind, New) :-
    predicate(T, Name/Arity),
    (   New == none -> Text = ""
    ;   with_output_to(string(Text0), ( current_output(Out), portray_clause(Out, New, [variable_names(Bindings)]) )),
        string_concat(Text, "\n", Text0) ),
    format(atom(PI), "~w/~w", [Name, Arity]),
    json_write_dict(current_output, _{kind: Kind, predicate: PI, line: Line, start: From, end: To, text: Text}, [width(0)]),
    nl.

predicate((H --> _), Name/Arity) :- !, functor(H, Name, A0), Arity is A0 + 2.
predicate((H :- _), Name/Arity) :- !, functor(H, Name, Arity).
predicate(H, Name/Arity) :- functor(H, Name, Arity).

constant(T, A) :- sub(T, S), compound(S), S \= (_ :- _), S \= (_ --> _), S \= (_, _), arg(_, S, A), is_constant(A).
sub(T, T).
sub(T, S) :- compound(T), arg(_, T, A), nonvar(A), sub(A, S).
is_constant(A) :- atom(A), A \== [], A \== !, A \== true, A \== fail.

% --- slips --------------------------------------------------------------------------------------

slip(_, _, _, 'missing clause', none).
slip(T, Names, _, 'swapped arguments', New) :- changed_goal(T, swapped(Names), New).
slip(T, _, _, 'wrong comparison', New) :- changed_goal(T, compared, New).
slip(T, _, Constants, 'wrong constant', New) :- in_arguments(T, other(Constants), New).
slip(T, _, _, 'dropped goal', New) :- parts(T, Arrow, Head, Body), dropped(Body, Less), made(Arrow, Head, Less, New).
slip(T, _, _, 'misplaced cut', New) :- parts(T, Arrow, Head, Body), recut(Body, Other), Other \== Body, made(Arrow, Head, Other, New).

parts((H :- B), :-, H, B).
parts((H --> B), -->, H, B).
made(:-, H, true, H) :- !.
made(:-, H, B, (H :- B)).
made(-->, H, true, (H --> [])) :- !.
made(-->, H, B, (H --> B)).

/*  One goal of the body changed by a relation, wherever it stands. */
changed_goal(T, By, New) :- parts(T, Arrow, H, B), in_body(B, By, B1), made(Arrow, H, B1, New).
in_body(B, _, _) :- var(B), !, fail.
in_body(B, By, New) :- call(By, B, New).
in_body(B, By, New) :-
    control(B), B =.. [F|As], append(Before, [A|After], As), in_body(A, By, A1),
    append(Before, [A1|After], As1), New =.. [F|As1].
control(B) :- functor(B, F, N), memberchk(F/N, [(',')/2, (;)/2, (->)/2, (*->)/2, (\+)/1, {}/1, findall/3, setof/3, (^)/2, catch/3]).

swapped(Names, G, New) :-
    callable(G), G =.. [F|As], memberchk(F, Names),
    append(Before, [A, B|After], As), A \== B,
    append(Before, [B, A|After], As1), New =.. [F|As1].

compared(G, New) :- compound(G), G =.. [Op, A, B], other_comparison(Op, Op1), New =.. [Op1, A, B].
other_comparison(<, =<). other_comparison(<, >). other_comparison(=<, <). other_comparison(=<, >=).
other_comparison(>, >=). other_comparison(>, <). other_comparison(>=, >). other_comparison(>=, =<).
other_comparison(=:=, =\=). other_comparison(=\=, =:=).
other_comparison(==, \==). other_comparison(\==, ==).
other_comparison(#<, #=<). other_comparison(#=<, #<). other_comparison(#>, #>=).
other_comparison(#\=, #=). other_comparison(#=, #\=).

/*  One constant inside the arguments of the head or of a goal. */
in_arguments(T, By, New) :- parts(T, Arrow, H, B), !,
    (   inside(H, By, H1), made(Arrow, H1, B, New)
    ;   in_body(B, inside_goal(By), B1), made(Arrow, H, B1, New) ).
in_arguments(T, By, New) :- inside(T, By, New).
inside_goal(By, G, New) :- \+ control(G), inside(G, By, New).
inside(T, By, New) :-
    compound(T), T =.. [F|As], append(Before, [A|After], As), nonvar(A),
    ( call(By, A, A1) ; inside(A, By, A1) ),
    append(Before, [A1|After], As1), New =.. [F|As1].
other(_, N, M) :- integer(N), M is N + 1.
other(Constants, A, B) :- is_constant(A), append(_, [A, B|_], Constants), !.
other(Constants, A, B) :- is_constant(A), last(Constants, A), Constants = [B|_], A \== B.

dropped(B, _) :- var(B), !, fail.
dropped((A, B), B) :- A \== ! .
dropped((A, B), A) :- B \== !, B \= (_, _).
dropped((A, B), (A, C)) :- B = (_, _), dropped(B, C).
dropped((A ; B), (C ; B)) :- dropped(A, C).
dropped((A ; B), (A ; C)) :- dropped(B, C).
dropped((A -> B), (C -> B)) :- dropped(A, C).
dropped((A -> B), (A -> C)) :- dropped(B, C).
dropped(B, true) :- \+ control(B), B \== !.

/*  Without a cut it had; with it one place earlier or later; with one it had not. */
recut(B, New) :- list_of(B, L), append(Before, [!|After], L), append(Before, After, L1), body_of(L1, New).
recut(B, New) :- list_of(B, L), append(Before, [G, !|After], L), append(Before, [!, G|After], L1), body_of(L1, New).
recut(B, New) :- list_of(B, L), append(Before, [!, G|After], L), append(Before, [G, !|After], L1), body_of(L1, New).
recut(B, New) :- list_of(B, L), \+ memberchk(!, L), append([G|Gs], After, L), append([G|Gs], [!|After], L1), body_of(L1, New).
list_of(B, [B]) :- var(B), !.
list_of((A, B), L) :- !, list_of(A, L1), list_of(B, L2), append(L1, L2, L).
list_of(B, [B]).
body_of([], true).
body_of([G], G) :- !.
body_of([G|Gs], (G, B)) :- body_of(Gs, B).
