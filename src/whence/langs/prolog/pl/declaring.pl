/*  What a program declares of its predicates: the Prolog side of declarations.py.

    Modes come as they stand in comments (PlDoc), `:- det` from the system; `:- pred` and `:- type`
    (of the pack type_check) are read here. Types are those of library(error), what the program adds
    to them, and for `:- pred` those of `:- type`. A verdict is given only if it is certain: a term
    violates a type if no instance of it has that type.
*/
:- module(whence_declaring, [declare/2, declare_types/2, declared/5]).
:- use_module(library(lists)).
:- use_module(library(apply)).
:- use_module(library(error)).
:- dynamic mode/4, typedef/3.
:- op(650, fx, [+, -, ++, --, ?, :, @, !]).
:- op(190, xfy, or).
:- op(1130, xfx, --->).

most_inferences(200_000).

/*  Texts are like `name(+X:integer, -Y) is det`; others are ignored. Texts of the kind `dcg` declare
    nonterminals, which have two more arguments. */
declare(M, Texts) :- forall(member(Kind-Text, Texts), ignore(declare_one(M, Kind, Text))).

declare_one(M, Kind, Text) :-
    catch(term_string(Term, Text, [module(whence_declaring)]), _, fail),
    nonvar(Term),
    (   Term = (Head0 is Det), nonvar(Det) -> true ; Head0 = Term, Det = unknown ),
    nonvar(Head0), ( Head0 = M1:Head -> atom(M1) ; Head = Head0, M1 = M ),
    callable(Head), \+ memberchk(Head, [(_ , _), (_ :- _)]),
    Head =.. [Name|Arguments0],
    ( Kind == dcg -> append(Arguments0, [_, _], Arguments) ; Arguments = Arguments0 ),
    maplist(argument, Arguments, Declared),
    length(Declared, Arity),
    assertz(mode(M1, Name/Arity, Declared, Det)).

/*  a(Instantiation, Type) */
argument(Argument, a(?, any)) :- var(Argument), !.
argument(Argument, a(Mode, Type)) :-
    compound(Argument), Argument =.. [Mode, Of], memberchk(Mode, [+, -, ++, --, ?, :, @, !]), !,
    type(Of, Type).
argument(Argument, a(?, Type)) :- type(Argument, Type).

type(Of, Type) :- compound(Of), Of = _:Type0, ground(Type0), !, known_type(Type0, Type).
type(_, any).

known_type(A or B, TypeA or TypeB) :- !, known_type(A, TypeA), known_type(B, TypeB).
known_type(list(Of), list(Type)) :- !, known_type(Of, Type).
known_type(list_of(Of), list(Type)) :- !, known_type(Of, Type).
known_type(Type, Type) :-
    callable(Type), functor(Type, Name, Arity), functor(General, Name, Arity),
    \+ memberchk(Name, [any, var, cyclic, list_or_partial]),
    once(clause(error:has_type(General, _), _)), !.
known_type(_, any).

/*  The declarations of a file, read as the program reads it, and not run. */
declare_types(M, File) :-
    catch(setup_call_cleanup(open(File, read, In), declare_all(M, In), close(In)), _, true).
declare_all(M, In) :-
    repeat,
    catch(read_term(In, Term, [module(M)]), _, true),   % loading the file reported its syntax errors
    (   Term == end_of_file -> !
    ;   nonvar(Term), Term = (:- Declaration), nonvar(Declaration),
        ignore(declare_type(M, Declaration)), fail ).

declare_type(M, Declaration) :-
    Declaration =.. [Name, Head], memberchk(Name, [pred, trust_pred]), !,
    callable(Head), \+ is_more_than_head(Head),
    Head =.. [Predicate|Types], length(Types, Arity),
    findall(a(?, in(M, Type)), member(Type, Types), Declared),
    assertz(mode(M, Predicate/Arity, Declared, unknown)).
declare_type(M, Declaration) :-
    Declaration =.. [type, Definition], nonvar(Definition),
    (   Definition = (Type ---> Alternatives) -> alternatives(Alternatives, List), Is = any_of(List)
    ;   Definition = (Type == Same), Is = same(Same) ),
    callable(Type), assertz(typedef(M, Type, Is)).

/*  In other systems, `:- pred` may declare more than a head. */
is_more_than_head(Head) :- functor(Head, Name, 2), memberchk(Name, [:, ',', =>, is, +, ::]).

alternatives(Term, [Term]) :- var(Term), !.
alternatives((A ; B), List) :- !,
    alternatives(A, ListA), alternatives(B, ListB), append(ListA, ListB, List).
alternatives((A | B), List) :- !, alternatives((A ; B), List).
alternatives(Term, [Term]).

% --- judging ------------------------------------------------------------------------------------

/*  declared(+Port, +M, +Call, +Item, -Verdict): Item is the answer of an exit, the error of an
    exception, else none; for a fail only one without answers is asked about. */
declared(Port, M, Call, Item, Verdict) :-
    bare(Call, Is, Goal), functor(Goal, Name, Arity),
    findall(Arguments-Det, mode(M, Name/Arity, Arguments, Det), Modes0),
    (   Modes0 == [], not_det(Port, M, Name/Arity, Item, _)
    ->  length(Free, Arity), maplist(=(a(?, any)), Free), Modes = [Free-unknown]
    ;   Modes = Modes0, Modes \== [] ),
    Goal =.. [_|Given],
    findall(Fit-Det-Declared,
            ( member(Declared-Det, Modes), fit(Declared, Given, Is, 1, Fit) ), Fits),
    (   member(no(First)-_-_, Fits), forall(member(Fit-_-_, Fits), Fit = no(_))
    ->  Verdict = verdict(inadmissible, First)
    ;   exclude(is_no, Fits, Apply), forall(member(Fit-_-_, Apply), Fit == yes),
        (   not_det(Port, M, Name/Arity, Item, Why) -> true
        ;   findall(W, ( member(_-Det-Declared, Apply), violated(Port, Det, Declared, Item, W) ),
                    Whys),
            same_length(Whys, Apply), Whys = [Why|_] ),
        Verdict = verdict(wrong, Why) ).

/*  How a predicate violates its `:- det`: the system raises an error, in the caller if no clause
    matched. */
not_det(fail, M, Name/Arity, _, "it is declared det, so it has an answer") :-
    functor(Head, Name, Arity), predicate_property(M:Head, det), !.
not_det(exception, M, PI, error(determinism_error(Of, det, How, property), _), Why) :-
    strip_module(M:Of, M, PI),
    (   How == fail -> Why = "it is declared det, so it has an answer"
    ;   Why = "it is declared det, so it leaves nothing to be tried" ).

is_no(no(_)-_-_).

/*  The goal of a kept term. If it is constrained, it is unknown whether its variables are bound. */
bare('$whence_constrained'(Goal, _), constrained, Goal) :- !.
bare(Goal, plain, Goal) :- Goal \= '$whence_text'(_).

violated(exit, _, Declared, Answer, Why) :-
    bare(Answer, _, Goal), Goal =.. [_|Values],
    nth1(N, Declared, a(_, Type)), nth1(N, Values, Value), violates(Type, Value), !,
    not_of_type(N, Value, Type, Why).
violated(exit, failure, _, _, "it is declared to fail").
violated(fail, Det, _, _, Why) :-
    memberchk(Det, [det, multi]), format(string(Why), "it is declared ~w, so it has an answer", [Det]).

/*  fit(+Declared, +Given, +Is, +N, -Fit): yes, no(Why) or maybe. */
fit([], [], _, _, yes).
fit([a(Mode, Type)|More], [Value|Values], Is, N, Fit) :-
    argument_fit(Mode, Type, Value, Is, N, First),
    (   First = no(_) -> Fit = First
    ;   Next is N + 1, fit(More, Values, Is, Next, Rest),
        ( Rest = no(_) -> Fit = Rest ; First == yes -> Fit = Rest ; Fit = maybe ) ).

argument_fit(-, _, _, _, _, Fit) :- !, Fit = yes.
argument_fit(--, _, Value, _, N, Fit) :- !,
    ( var(Value) -> Fit = yes ; format(string(Why), "argument ~d is given, declared --", [N]), Fit = no(Why) ).
argument_fit(:, _, _, _, _, Fit) :- !, Fit = yes.
argument_fit(!, _, _, _, _, Fit) :- !, Fit = yes.
argument_fit(Mode, Type, Value, Is, N, Fit) :-
    (   violates(Type, Value) -> not_of_type(N, Value, Type, Why), Fit = no(Why)
    ;   memberchk(Mode, [+, ++]), var(Value)
    ->  (   Is == constrained -> Fit = maybe
        ;   format(string(Why), "argument ~d is unbound, declared ~w", [N, Mode]), Fit = no(Why) )
    ;   Mode == (++), \+ ground(Value)
    ->  (   Is == constrained -> Fit = maybe
        ;   format(string(Why), "argument ~d is not ground, declared ++", [N]), Fit = no(Why) )
    ;   Mode == (+), Type \== any, \+ has(Type, Value) -> Fit = maybe
    ;   Fit = yes ).

not_of_type(N, Value, Type, Why) :-
    whence_judging:text(Value, Shown), type_text(Type, Name),
    format(string(Why), "argument ~d is ~w, which is not of type ~w", [N, Shown, Name]).
type_text(A or B, Text) :- !,
    type_text(A, TextA), type_text(B, TextB), format(atom(Text), "~w|~w", [TextA, TextB]).
type_text(in(_, Type), Text) :- !, whence_judging:text(Type, Text).
type_text(list(A), Text) :- !, type_text(A, TextA), format(atom(Text), "list(~w)", [TextA]).
type_text(Type, Type).

/*  violates(+Type, +Value): no instance of the value has the type. */
violates(any, _) :- !, fail.
violates(_, Value) :- var(Value), !, fail.
violates(in(M, Type), Value) :- !, nonvar(Type), in_type(Type, M, Is), violates_type(Is, M, Value).
violates(A or B, Value) :- !, violates(A, Value), violates(B, Value).
violates(list(Type), Value) :- !,
    '$skip_list'(_, Value, Tail),
    (   nonvar(Tail), Tail \== [] -> true
    ;   item_of(Value, Item), violates(Type, Item) -> true ).
violates(list, Value) :- !, '$skip_list'(_, Value, Tail), nonvar(Tail), Tail \== [].
violates(Type, Value) :-
    ( ground(Value) -> true ; atomic_type(Type) ),
    bounded(catch(must_be(Type, Value), error(Formal, _), true)),
    nonvar(Formal), Formal \== instantiation_error, Formal \= existence_error(type, _).

/*  The meaning of a type in `:- pred`; fails for an unknown type, which is not checked. */
in_type(Type, M, Is) :- copy_term(Type, Copy), typedef(M, Copy, Is), !.
in_type(list(Of), M, known(list(in(M, Of)))) :- !.
in_type(Type, _, known(Type)) :-
    memberchk(Type, [integer, float, number, atom, atomic, string, boolean, nonneg]).

violates_type(known(Type), _, Value) :- violates(Type, Value).
violates_type(same(Type), M, Value) :- violates(in(M, Type), Value).
violates_type(any_of(Alternatives), M, Value) :-
    \+ ( member(Alternative, Alternatives), fits(Alternative, M, Value) ).

fits(Alternative, _, _) :- var(Alternative), !.
fits(Alternative, M, Value) :-
    functor(Alternative, Name, Arity), functor(Value, Name, Arity),
    \+ ( compound(Value), arg(N, Alternative, Type), arg(N, Value, Part), violates(in(M, Type), Part) ).

item_of(List, Item) :- nonvar(List), List = [Head|Tail], ( Item = Head ; item_of(Tail, Item) ).

atomic_type(Type) :-
    memberchk(Type, [atom, atomic, integer, nonneg, positive_integer, number, float, rational, string,
                     boolean, bool, symbol, char, code, between(_, _), oneof(_)]).

has(A or B, Value) :- !, ( has(A, Value) -> true ; has(B, Value) ).
has(list(Type), Value) :- !, is_list(Value), forall(member(Item, Value), has(Type, Item)).
has(any, _) :- !.
has(Type, Value) :- bounded(catch(is_of_type(Type, Value), _, fail)).

/*  A type that the program defines runs the program's code, so its cost is bounded. */
bounded(Goal) :-
    most_inferences(Most), call_with_inference_limit(Goal, Most, How),
    How \== inference_limit_exceeded, !.
