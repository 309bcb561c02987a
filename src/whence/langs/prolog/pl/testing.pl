/*  Runs plunit tests: the Prolog side of plunit.py.

    A test is run as plunit runs it. One that passes is evidence for the goals of its own body, and
    only for what its text fixes: a goal all of whose variables the test compares with ground terms.
    It is no evidence for the calls below: two faults may cancel each other out. For a test that
    fails, the wrong or missing answer of its body is written.

    Goals that depend on more than their arguments are no evidence (judging.pl).
*/
:- module(whence_testing, [load_tests/2, send_tests/1, tested/5, set_up_test/5, clean_up_test/4]).
:- use_module(library(lists)).
:- use_module(library(apply)).
:- use_module(judging).
:- dynamic known/5, source_term/4.

most_inferences(5_000_000).

load_tests(Program, Files) :-
    use_module(user:library(plunit)),
    (   module_property(Context, file(Program)) -> true ; Context = user ),
    forall(member(File, Files),
           ( load_files(Context:File, [imports([])]), assertz(whence_judging:test_file(File)) )).

% --- the tests ----------------------------------------------------------------------------------

unit(Unit, M, Options) :- current_module(plunit), plunit:current_unit(Unit, M, _, Options).

/*  A test is test(Name, Line, Options, Goal, Names): Names are those of its variables, Name=Variable,
    as the source has them. */
test_of(M, test(Name, Line, Options, Goal, Names)) :-
    catch(M:'unit test'(Name, Line, Options, _:Head), _, fail),
    clause(M:Head, Body),
    (   Body = (!, Goal) -> true ; Goal = true ),
    source_names(M, Line, Options, Goal, Names).

/*  The instances of a test: one, or one for each solution of its generator. Given is `text` if
    the values that the generator binds are written in the file of tests, else `data`. */
instance(M, Options, Nth, Given) :-
    (   memberchk(forall(Generator), Options)
    ->  ( in_text(Generator, M) -> Given = text ; Given = data ),
        State = state(0),
        M:Generator,
        arg(1, State, N0), N is N0 + 1, nb_setarg(1, State, N), Nth = N
    ;   Nth = 0, Given = text ).

in_text(Generator, _) :- var(Generator), !, fail.
in_text((A, B), M) :- !, in_text(A, M), in_text(B, M).
in_text(member(_, Values), _) :- !, ground(Values).
in_text(between(A, B, _), _) :- !, integer(A), integer(B).
in_text(_ = Value, _) :- !, ground(Value).
in_text(Goal, M) :-
    callable(Goal), Goal \= _:_,
    functor(Goal, Name, Arity), functor(Head, Name, Arity),
    \+ predicate_property(M:Head, imported_from(_)),
    predicate_property(M:Head, number_of_clauses(_)), \+ predicate_property(M:Head, dynamic),
    forall(clause(M:Head, Body), ( Body == true, ground(Head) )).

module_file(M, File) :- ( module_property(M, file(File)) -> true ; File = '' ).

source_names(M, Line, Options, Goal, Names) :-
    module_file(M, File), source_terms(File, M),
    (   source_term(File, Line, Term, Names0), test_parts(Term, Options0, Goal0), Goal0 =@= Goal
    ->  Goal0 = Goal, Names = Names0,
        forall_bound(Options0, Options)
    ;   Names = [] ).
test_parts((test(_) :- Goal), [], Goal).
test_parts((test(_, Options0) :- Goal), Options, Goal) :-
    ( is_list(Options0) -> Options = Options0 ; Options = [Options0] ).

/*  Unifies the variables that occur in the options only. plunit keeps an option as it was written,
    or wraps it in another term. */
forall_bound([], _).
forall_bound([Option|More], Kept) :-
    (   member(One, Kept), One =@= Option -> One = Option
    ;   member(One, Kept), compound(One), arg(1, One, Inner), Inner =@= Option -> Inner = Option
    ;   true ),
    forall_bound(More, Kept).

source_terms(File, _) :- source_term(File, 0, _, _), !.
source_terms(File, M) :-
    assertz(source_term(File, 0, none, [])),
    catch(setup_call_cleanup(open(File, read, In), read_terms(File, M, In), close(In)), _, true).
read_terms(File, M, In) :-
    repeat,
    catch(read_term(In, Term, [variable_names(Names), term_position(Place), module(M)]), _, true),
    (   Term == end_of_file -> !
    ;   nonvar(Term), nonvar(Place), test_parts(Term, _, _),
        stream_position_data(line_count, Place, Line),
        assertz(source_term(File, Line, Term, Names)), fail ).

% --- running all of them ------------------------------------------------------------------------

/*  Sends a line for each test: its outcome, and what is wrong if it failed. */
send_tests(Out) :-
    retractall(known(_, _, _, _, _)),
    ( has_setup -> clauses_change ; true ),
    silently(forall(unit(Unit, M, Options), send_unit(Unit, M, Options, Out))).

/*  Discards what tests print about themselves. */
silently(Goal) :-
    stream_property(Before, alias(user_error)), open_null_stream(Null),
    setup_call_cleanup(set_stream(Null, alias(user_error)), Goal,
                       ( set_stream(Before, alias(user_error)), close(Null) )).

has_setup :-
    unit(_, M, UnitOptions),
    ( Options = UnitOptions ; test_of(M, test(_, _, Options, _, _)) ),
    ( memberchk(setup(_), Options) ; memberchk(cleanup(_), Options) ), !.

send_unit(Unit, M, UnitOptions, Out) :-
    ready(M, UnitOptions, Ready),
    (   Ready == true
    ->  forall(( test_of(M, Test), Test = test(_, _, Options, _, _),
                 ( left_out(Options, _) -> Nth = 0, Given = data
                 ; instance(M, Options, Nth, Given) ) ),
               ( evaluated(Unit, M, Test, Given, Result), send_test(Unit, M, Test, Nth, Result, Out) )),
        tidy(M, UnitOptions)
    ;   forall(test_of(M, Test), send_test(Unit, M, Test, 0, Ready, Out)) ).

send_test(Unit, M, test(Name, Line, _, _, _), Nth, Result, Out) :-
    module_file(M, File), result_fields(Result, Fields),
    whence_capture:line(Out, [test, text(Unit), text(Name), Nth, text(File), Line|Fields]).

result_fields(passed, [passed, 0, '', '', '']).
result_fields(left_out(Why), [left_out, 0, '', '', text(Why)]).
result_fields(failed(Kind, Number, Part, Missing, Why),
              [Kind, Number, text(Part), text(Missing), text(Why)]).

/*  ready(+M, +Options, -Ready): Ready is true if a unit or a test can run; its setup has run then. */
ready(_, Options, left_out(Reason)) :- left_out(Options, Reason), !.
ready(M, Options, left_out("its condition does not hold")) :-
    memberchk(condition(Condition), Options), \+ called(M, Condition), !.
ready(M, Options, Ready) :-
    (   memberchk(setup(Setup), Options)
    ->  ( called(M, Setup) -> Ready = true ; Ready = left_out("its setup failed") )
    ;   Ready = true ).

left_out(Options, Reason) :-
    memberchk(blocked(Why), Options), !, format(string(Reason), "it is blocked: ~w", [Why]).
left_out(Options, Reason) :-
    memberchk(fixme(Why), Options), !, format(string(Reason), "it is to be fixed: ~w", [Why]).
left_out(Options, "it changes the occurs check") :-
    ( memberchk(sto(_), Options) ; memberchk(occurs_check(_), Options) ), !.

called(M, Goal) :- catch(( expand_goal(M:Goal, Expanded), call(Expanded) ), _, fail), !.
tidy(M, Options) :- ( memberchk(cleanup(Goal), Options) -> ignore(called(M, Goal)) ; true ).

/*  The outcome of a test; its evidence is kept. Its text is copied before the setup, which may bind
    its variables. */
evaluated(Unit, M, test(Name, _, Options, Goal, Names), Given0, Result) :-
    State = state(none),
    copy_term(g(Goal, Options), Text), numbered_text(Text),
    term_variables(g(Goal, Options), Variables), maplist(name_in(Names), Variables, Named),
    (   ready(M, Options, Ready),
        (   Ready == true
        ->  ( maplist(var, Variables) -> Given = Given0 ; Given = data ),
            limited(run(t(M, Goal, Options, Text, Variables, Named), Found, Evidence), Found, Ended),
            nb_setarg(1, State, Ended),
            ( Ended == passed, Given == text -> keep_evidence(Evidence, M, Unit:Name) ; true ),
            tidy(M, Options)
        ;   nb_setarg(1, State, Ready) ),
        fail
    ;   arg(1, State, Result) ).

limited(Goal, Found, Ended) :-
    most_inferences(Most),
    statistics(inferences, Before),
    catch(call_with_inference_limit(once(Goal), Most, How), _, How = raised),
    statistics(inferences, After),
    (   ( After - Before >= Most ; How == inference_limit_exceeded )
    ->  Ended = failed(endless, 0, "", "", "it should end")   % a catch may have hidden it
    ;   How == raised -> Ended = left_out("it could not be run")
    ;   Ended = Found ).

/*  The variables of a text become '$whence_v'(N), in their order. */
numbered_text(Text) :- term_variables(Text, Variables), number_from(Variables, 1).
number_from([], _).
number_from(['$whence_v'(N)|More], N) :- Next is N + 1, number_from(More, Next).

name_in(Names, Variable, Name) :- member(Name=Other, Names), Other == Variable, !.
name_in(_, _, '_').

% --- one test -----------------------------------------------------------------------------------

/*  Evidence is a list of e(Port, Goal, Items), as for judge/6. */
run(Test, Result, Evidence) :-
    Test = t(_, _, Options, g(_, OptionsText), _, _),
    (   collecting(Options, Kind, Comparison), collecting(OptionsText, Kind, ComparisonText)
    ->  run_all(Kind, Comparison, ComparisonText, Test, Result, Evidence)
    ;   memberchk(fail, Options) -> run_fail(Test, Result, Evidence)
    ;   memberchk(throws(Ball), Options), memberchk(throws(BallText), OptionsText)
    ->  run_throws(Ball, BallText, Test, Result, Evidence)
    ;   run_true(Test, Result, Evidence) ).

collecting(Options, Kind, Comparison) :-
    member(Kind, [all, set, bag]), Option =.. [Kind, Comparison], memberchk(Option, Options), !.

run_true(t(M, Goal, Options, g(Text, OptionsText), Variables, Named), Result, Evidence) :-
    maplist(conditions, [Options, OptionsText], [Conditions, ConditionTexts]),
    (   catch(body(M, Goal, Text, Steps), Error, true)
    ->  (   nonvar(Error) -> raised(Error, Result), Evidence = []
        ;   maplist(holds(M), Conditions)
        ->  Result = passed,
            fixed(ConditionTexts, Text, Variables, Fixed),
            findall(E, ( member(Step, Steps), shown_by(Step, Fixed, E) ), Evidence)
        ;   wrong_part(M, Conditions, ConditionTexts, Named, Part, Why),
            Result = failed(wrong, 1, Part, "", Why), Evidence = [] )
    ;   Result = failed(missing, 0, "", "", "it should succeed"), Evidence = [] ).

conditions([], []).
conditions([Option|More], Cs) :-
    (   Option = true(C) -> conjuncts(C, First), append(First, Rest, Cs) ; Cs = Rest ),
    conditions(More, Rest).
conjuncts(C, [C]) :- var(C), !.
conjuncts((A, B), Cs) :- !, conjuncts(A, As), conjuncts(B, Bs), append(As, Bs, Cs).
conjuncts(C, [C]).

holds(M, Condition) :- catch(M:Condition, _, fail), !.

raised(Error, failed(raised, 0, "", "", Why)) :-
    whence_judging:message(Error, Text), format(string(Why), "it should not raise ~w", [Text]).

run_fail(t(M, Goal, _, g(Text, _), _, _), Result, Evidence) :-
    (   catch(M:Goal, Error, true)
    ->  Evidence = [],
        (   nonvar(Error) -> raised(Error, Result)
        ;   Result = failed(wrong, 1, "", "", "it should fail") )
    ;   Result = passed,
        ( alone(Goal, Text, Literal) -> Evidence = [e(fail, Literal, [])] ; Evidence = [] ) ).

run_throws(Ball, BallText, t(M, Goal, _, g(Text, _), _, Named), Result, Evidence) :-
    written(BallText, Named, Expected),
    format(string(Why), "it should raise ~w", [Expected]),
    (   catch(M:Goal, Error, true)
    ->  (   var(Error) -> Result = failed(wrong, 1, "", "", Why), Evidence = []
        ;   subsumes_term(Ball, Error)
        ->  Result = passed,
            (   says_which(BallText, Error), alone(Goal, Text, Literal)
            ->  Evidence = [e(exception, Literal, [Error])] ; Evidence = [] )
        ;   Result = failed(raised, 0, "", "", Why), Evidence = [] )
    ;   Result = failed(missing, 0, "", "", Why), Evidence = [] ).

says_which(error(Formal, _), error(Raised, _)) :- !, Formal == Raised.
says_which(Ball, Raised) :- Ball == Raised.

run_all(Kind, Comparison, ComparisonText, Test, Result, Evidence) :-
    Test = t(M, Goal, _, g(Text, _), _, Named),
    Comparison =.. [Op, Template, Values], ComparisonText =.. [_, TemplateText, ValuesText],
    catch(findall(s(Template, Steps), body(M, Goal, Text, Steps), Found), Error, true),
    (   var(Error)
    ->  findall(T, member(s(T, _), Found), Bindings),
        (   same_all(Kind, Op, Values, Bindings)
        ->  Result = passed,
            (   ground(Values), indices(ValuesText, [])
            ->  all_shown(Template, TemplateText, Goal, Text, Found, Evidence)
            ;   Evidence = [] )
        ;   Evidence = [], written(ComparisonText, Named, Should),
            unexpected(Op, Values, Bindings, TemplateText, Named, Should, Result) )
    ;   raised(Error, Result), Evidence = [] ).

same_all(all, Op, Values, Bindings) :- same_each(Values, Bindings, Op).
same_all(set, Op, Values0, Bindings0) :-
    sort(Values0, Values), sort(Bindings0, Bindings), same_each(Values, Bindings, Op).
same_all(bag, Op, Values0, Bindings0) :-
    msort(Values0, Values), msort(Bindings0, Bindings), same_each(Values, Bindings, Op).
same_each([], [], _).
same_each([V|Vs], [B|Bs], Op) :- call(Op, V, B), same_each(Vs, Bs, Op).

unexpected(Op, Values, Bindings, TemplateText, Named, Should0, Result) :-
    format(string(Should), "all should be ~w", [Should0]),
    (   nth1(N, Bindings, B), \+ ( member(V, Values), fits(Op, V, B) )
    ->  Result = failed(wrong, N, "", "", Should)
    ;   member(V, Values), \+ ( member(B, Bindings), fits(Op, V, B) )
    ->  written(TemplateText, Named, Shown), whence_judging:text(V, Value),
        format(string(Missing), "~w = ~w", [Shown, Value]),
        Result = failed(missing, 0, "", Missing, Should)
    ;   Result = failed(order, 0, "", "", Should) ).
fits(Op, V, B) :- \+ \+ catch(call(Op, V, B), _, fail).

% --- what a passing test shows ------------------------------------------------------------------

/*  body(+M, +Goal, +Text, -Steps): a solution of a test's body with a step for each of its goals,
    step(Text, the goal when it was called, the goal). If it cuts, there are no steps. */
body(M, Goal, Text, []) :- conjuncts(Text, Goals), memberchk(!, Goals), !, call(M:Goal).
body(M, Goal, Text, Steps) :- solve(Goal, Text, M, Steps, []).

solve((A, B), (TextA, TextB), M, Steps, Rest) :- !,
    solve(A, TextA, M, Steps, Between), solve(B, TextB, M, Between, Rest).
solve(once(Goal), once(Text), M, Steps, Rest) :- !, once(solve(Goal, Text, M, Steps, Rest)).
solve(Goal, Text, M, [step(Text, Before, Goal)|Rest], Rest) :-
    copy_term(Goal, Before), call(M:Goal).

/*  The variables of a test that its text fixes: they are compared with ground terms, or with terms
    whose variables are fixed. */
fixed(ConditionTexts, Text, Variables, Fixed) :-
    conjuncts(Text, Goals), append(ConditionTexts, Goals, All),
    findall(N-T, ( member(C, All), comparison(C, A, B), fixing(A, B, N, T) ), Equations),
    grown(Equations, Variables, [], Fixed).

comparison(C, A, B) :- compound(C), C =.. [Op, A, B], memberchk(Op, [==, =@=, =, =:=]).

fixing('$whence_v'(N), T, N, T).
fixing(T, '$whence_v'(N), N, T).
fixing(A, B, N, T) :-
    compound(A), compound(B), A \= '$whence_v'(_), B \= '$whence_v'(_),
    functor(A, Name, Arity), functor(B, Name, Arity),
    arg(I, A, One), arg(I, B, Other), fixing(One, Other, N, T).

grown(Equations, Variables, Fixed0, Fixed) :-
    (   member(N-T, Equations), \+ memberchk(N, Fixed0),
        indices(T, Needed), subtract(Needed, Fixed0, []),
        nth1(N, Variables, Value), ground(Value),
        substituted(T, Variables, Should), Should == Value
    ->  grown(Equations, Variables, [N|Fixed0], Fixed)
    ;   Fixed = Fixed0 ).

indices(Text, Indices) :-
    findall(N, ( sub_text(Text, Sub), Sub = '$whence_v'(N) ), Found), sort(Found, Indices).
sub_text(Text, Text) :- compound(Text).
sub_text(Text, Sub) :- compound(Text), Text \= '$whence_v'(_), arg(_, Text, Part), sub_text(Part, Sub).

substituted('$whence_v'(N), Variables, Value) :- !, nth1(N, Variables, Value).
substituted(Text, Variables, Value) :-
    compound(Text), !,
    Text =.. [Name|Texts], maplist(substituted_in(Variables), Texts, Values),
    Value =.. [Name|Values].
substituted(Text, _, Text).
substituted_in(Variables, Text, Value) :- substituted(Text, Variables, Value).

/*  What a step shows: that its goal is true, or, of `\+ Goal`, that it has no answer. */
shown_by(step(\+ Text, \+ Before, _), Fixed, e(fail, Before, [])) :- !,
    is_literal(Text),
    forall(( given(Text, Before, N, Value), nonvar(Value) ), memberchk(N, Fixed)).
shown_by(step(Text, Before, After), Fixed, e(exit, Before, [After])) :-
    is_literal(Text), indices(Text, Needed), subtract(Needed, Fixed, []), ground(After).

given('$whence_v'(N), Value, N, Value) :- !.
given(Text, Term, N, Value) :-
    compound(Text), compound(Term), arg(I, Text, One), arg(I, Term, Other), given(One, Other, N, Value).

is_literal(Text) :-
    callable(Text), Text \= '$whence_v'(_),
    \+ memberchk(Text, [(_, _), (_ ; _), (_ -> _), (_ *-> _), \+ _, !]).

/*  The one goal of a body, which may unify variables before. */
alone(Goal, Text, Literal) :-
    conjuncts(Goal, Goals), conjuncts(Text, Texts), same_length(Goals, Texts),
    append(Unified, [Literal], Goals), append(UnifiedTexts, [LiteralText], Texts),
    forall(member(One, UnifiedTexts), ( nonvar(One), One = (_ = _) )),
    is_literal(LiteralText),
    maplist(call, Unified).

/*  If the template has all unbound variables of a goal, the goal's answers are known, and that it
    has no others. */
all_shown(Template, TemplateText, Goal, Text, Found, Evidence) :-
    indices(TemplateText, Fixed),
    findall(E, ( member(s(_, Steps), Found), member(Step, Steps), shown_by(Step, Fixed, E) ), Exits),
    (   alone(Goal, Text, Literal),
        term_variables(Literal, Open), term_variables(Template, Shown),
        forall(member(V, Open), ( member(T, Shown), T == V )),
        findall(A, ( member(s(_, Steps), Found), last(Steps, step(_, _, A)) ), Answers)
    ->  Evidence = [e(fail, Literal, Answers)|Exits]
    ;   Evidence = Exits ).

keep_evidence(Evidence, M, Who) :-
    forall(( member(E, Evidence), term_attvars(E, []), acyclic_term(E) ), keep_one(E, M, Who)).
keep_one(e(Port, Goal0, Items0), M, Who) :-
    strip_module(M:Goal0, M1, Goal),
    (   callable(Goal), home_of(M1, Goal, Home), whence_judging:is_users(Home, Goal),
        \+ impure(Home, Goal, _)
    ->  findall(Item, ( member(I, Items0), bare(I, Item) ), Items),
        assertz(known(Port, Home, Goal, Items, Who))
    ;   true ).
bare(Item0, Item) :- strip_module(Item0, _, Item).
home_of(M, Goal, Home) :-
    (   predicate_property(M:Goal, imported_from(Home)) -> true
    ;   predicate_property(M:Goal, defined), functor(Goal, Name, Arity),
        ( current_predicate(M:Name/Arity) -> Home = M ; Home = user ) ).

/*  tested(+Port, +Module, +Goal, +Items, -Who): a test shows that this outcome is right. */
tested(Port, M, c(Goal, []), Items0, Who) :-
    findall(I, member(c(I, []), Items0), Items), same_length(Items0, Items),
    known(Port, M, Call, Known, Unit:Name), Call =@= Goal, same_items(Port, Call-Known, Goal-Items), !,
    \+ impure(M, Goal, _),
    format(string(Who), "test ~w:~w", [Unit, Name]).
same_items(exception, _-[Known], _-[Item]) :- !, whence_judging:same_error(Known, Item).
same_items(_, Known, Item) :- Known =@= Item.

% --- what is wrong with a failing one -----------------------------------------------------------

/*  The first condition that does not hold, and the part of a variable that violates it. */
wrong_part(M, Conditions, Texts, Named, Part, Why) :-
    nth1(Nth, Conditions, Condition), \+ holds(M, Condition), !,
    nth1(Nth, Texts, Text),
    written(Text, Named, Shown), format(string(Why), "it should be ~w", [Shown]),
    (   comparison(Text, TextA, TextB), Condition =.. [_, A, B],
        ( differing(TextA, A, B, N, Value, Should) ; differing(TextB, B, A, N, Value, Should) ),
        nth1(N, Named, Name), Name \== '_',
        difference(Value, Should, Place)
    ->  string_concat(Name, Place, Part)
    ;   Part = "" ).

differing('$whence_v'(N), Value, Should, N, Value, Should) :- !, Value \== Should.
differing(Text, Term, Other, N, Value, Should) :-
    compound(Text), compound(Term), compound(Other),
    functor(Text, Name, Arity), functor(Other, Name, Arity),
    arg(I, Text, T), arg(I, Term, A), arg(I, Other, B), A \== B,
    differing(T, A, B, N, Value, Should).

/*  The only place in which two terms differ, written as a part; the whole term if there are more. */
difference(Value, Should, Place) :-
    nonvar(Value),
    (   numbered_parts(Value, Should, Pairs),
        findall(d(N, A, B), ( member(d(N, A, B), Pairs), A \== B ), [d(N, A, B)]),
        difference(A, B, Deeper)
    ->  format(string(Place), "[~d]~w", [N, Deeper])
    ;   Place = "" ).
numbered_parts(Value, Should, Pairs) :-
    (   is_list(Value), is_list(Should)
    ->  same_length(Value, Should),
        findall(d(N, A, B), ( nth1(N, Value, A), nth1(N, Should, B) ), Pairs)
    ;   compound(Value), compound(Should), Value \= [_|_],
        functor(Value, Name, Arity), functor(Should, Name, Arity),
        findall(d(N, A, B), ( arg(N, Value, A), arg(N, Should, B) ), Pairs) ).

written(Text, Named, Shown) :-
    findall('$VAR'(Name), member(Name, Named), Variables),
    substituted(Text, Variables, Term),
    format(string(Shown), "~W", [Term, [quoted(true), numbervars(true), spacing(next_argument)]]).

% --- one test, to be traced ---------------------------------------------------------------------

/*  set_up_test(+Unit, +Name, +Line, +Nth, -Fields): runs a test's setup; the fields are the module
    and the goal, as texts. */
set_up_test(UnitText, NameText, Line, Nth, [text(M), text(Shown)]) :-
    named_test(UnitText, NameText, Line, M, UnitOptions, test(_, _, Options, Goal, Names)),
    once(instance(M, Options, Nth, _)),
    ready(M, UnitOptions, true), ready(M, Options, true), !,
    ( whence_judging:has_handle(Goal) -> throw(error(whence_setup(UnitText, NameText), _)) ; true ),
    include(is_open, Names, Open),
    term_variables(Goal, Variables), exclude(has_name(Open), Variables, Others),
    other_names(Others, 1, Open, Named),
    format(string(Shown), "~W", [Goal, [quoted(true), variable_names(Named), module(user),
                                        spacing(next_argument)]]).

:- multifile prolog:error_message//1.
prolog:error_message(whence_setup(Unit, Name)) -->
    [ 'the setup of ~w:~w binds a stream or the like, which cannot be written in a goal'-[Unit, Name] ].

named_test(UnitText, NameText, Line, M, UnitOptions, Test) :-
    unit(Unit, M, UnitOptions), format(atom(UnitText), "~w", [Unit]),
    Test = test(Name, Line, _, _, _), test_of(M, Test), format(atom(NameText), "~w", [Name]).

is_open(_=Variable) :- var(Variable).
has_name(Names, Variable) :- member(_=Other, Names), Other == Variable, !.
other_names([], _, Names, Names).
other_names([V|Vs], N, Names0, Names) :-
    format(atom(Name), "_G~d", [N]), Next is N + 1, other_names(Vs, Next, [Name=V|Names0], Names).

clean_up_test(UnitText, NameText, Line, Nth) :-
    ignore(( named_test(UnitText, NameText, Line, M, UnitOptions, test(_, _, Options, _, _)),
             once(instance(M, Options, Nth, _)),
             tidy(M, Options), tidy(M, UnitOptions) )).
