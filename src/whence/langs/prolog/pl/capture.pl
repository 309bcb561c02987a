/*  The Prolog side of whence: runs a goal under the tracer and tells what happened.

    It owns one pair of descriptors, which are neither the program's input nor its output. Requests
    come as Prolog terms, one a line; what happens goes out as lines of fields between tabs (the
    reader is events.py). Terms stay here, under numbers, and are written when they are asked for.

    Invariant: the traced program gives the answers, output and errors of the plain one. So the
    hook is failure-driven, it binds nothing, and an exception inside it is reported, not raised.
*/
:- module(whence_capture, []).
:- use_module(library(lists)).
:- use_module(library(apply)).
:- use_module(library(occurs)).
:- use_module(library(terms)).
:- use_module(judging).
:- dynamic user:prolog_trace_interception/4.
:- multifile user:prolog_trace_interception/4.
:- dynamic known_predicate/5, known_clause/2, root/1, running/0, chosen_root/1.
:- dynamic most_events/1, deepest/1, skipped_from/1, to_open/1, told/2.

:- create_prolog_flag(whence_out, user_error, [type(term)]).
:- create_prolog_flag(whence_in, user_input, [type(term)]).

% --- requests -----------------------------------------------------------------------------------

serve :-
    current_prolog_flag(argv, Words),
    append(_, [InName, OutName], Words), !,
    open(InName, read, In, [encoding(utf8)]),
    open(OutName, write, Out, [encoding(utf8), buffer(full), newline(posix), close_on_abort(false)]),
    set_prolog_flag(whence_out, Out),
    set_prolog_flag(whence_in, In),
    set_prolog_flag(optimise_unify, false),
    answer_requests(In, Out).

answer_requests(In, Out) :-
    repeat,
    read_term(In, Request, [module(whence_capture)]),
    (   Request == end_of_file
    ->  !, ( thread_self(main) -> halt ; true )   % else the thread that was stopped halts
    ;   ( catch(request(Request), Problem, true) -> true ; Problem = 'the request failed' ),
        flush_output,
        (   nonvar(Problem)
        ->  message_text(Problem, Text),
            line(Out, [problem, text(Text)])
        ;   line(Out, [ok])
        ),
        flush_output(Out),
        fail
    ).

request(load(File)) :- load_files(user:File, []).
request(run(Text, Solutions, Limits)) :-
    setup_call_cleanup(watched(Limits, Watch), run(Text, Solutions, traced), unwatched(Watch)).
request(run_item(Module, Text, Solutions, Limits)) :-
    item_of(Text, c(Goal, Constraints)),
    setup_call_cleanup(watched(Limits, Watch),
                       run_item(Module:Goal, Constraints, Solutions), unwatched(Watch)).
request(number_from(N)) :-
    forall(member(F, [whence_terms, whence_predicates, whence_clauses]), flag(F, _, N)).
request(depends(Module, Text)) :-
    item_of(Text, c(Goal, _)), out(Out),
    ( impure(Module, Goal, Why) -> line(Out, [depends, text(Why)]) ; true ).
request(plain(Text, Solutions)) :- run(Text, Solutions, plain).
request(terms(Numbers)) :- forall(member(N, Numbers), tell_term(N)).
request(digests(Numbers)) :- forall(member(N, Numbers), tell_digest(N)).
request(values(Number, Which)) :- tell_values(Number, Which).
request(slot(Number, Path)) :- tell_slot(Number, Path).
request(places(Number)) :- tell_places(Number).
request(items(Numbers)) :- forall(member(N, Numbers), tell_item(N)).
request(instance(GoalText, Text)) :- instance_of(GoalText, Text).
request(judge(Port, Module, GoalText, Texts, Options)) :-
    maplist(item_of, [GoalText|Texts], [Goal|Items]),
    judge(Port, Module, Goal, Items, Options, verdict(Is, Why, Expected)),
    out(Out), line(Out, [verdict, Is, text(Why), text(Expected)]).

item_of(Text, Item) :- term_string(Item, Text).

out(Out) :- current_prolog_flag(whence_out, Out).

message_text(Problem, Text) :-
    (   catch(message_to_codes(Problem, Text), _, fail) -> true
    ;   term_to_atom(Problem, Text) ).
message_to_codes(Problem, Text) :-
    message_to_lines(Problem, Lines),
    with_output_to(string(Text), print_message_lines(current_output, '', Lines)).
message_to_lines(Problem, Lines) :- phrase(prolog:message(Problem), Lines), !.
message_to_lines(Problem, Lines) :- '$messages':translate_message(Problem, Lines, []).

:- include(subterms).

% --- running a goal -----------------------------------------------------------------------------

run(Text, Solutions, Mode) :-
    forget,
    term_string(Goal0, Text, [variable_names(Bindings), module(user)]),
    strip_module(user:Goal0, Module, Plain),
    expand_goal(Module:Plain, Goal1),
    run_goal(Goal1, Bindings, Solutions, Mode).

/*  A call as it was recorded, with the constraints on its variables. What was told of predicates
    and clauses still holds. */
run_item(Goal, Constraints, Solutions) :-
    forget_run, post(Constraints), run_goal(Goal, [], Solutions, traced).

run_goal(Goal1, Bindings, Solutions, Mode) :-
    strip_module(Goal1, M, Goal2),
    root_goal(M, Goal2, Goal),
    nb_setval(whence_walk, none), nb_setval(whence_called, 0),
    visible(+all), visible(+cut_call), visible(+exception), leash(-all),
    out(Out),
    tell_names(Bindings, Goal2, Out),
    Ended = ended(exhausted),
    State = state(0),
    (   solve(M:Goal, Mode, Bindings, Solutions, State, Out, Ended), fail ; true ),
    arg(1, Ended, How),
    line(Out, [end, How]).

/*  The goal with the answer that it lacks: one of the goal's form, or values of its variables. */
instance_of(GoalText, Text) :-
    format(string(Both), "goal((~w), (~w))", [GoalText, Text]),
    term_string(goal(Goal, Answer), Both, [module(user)]),
    (   Goal = Answer -> true
    ;   values(Answer), catch(user:Answer, _, fail) -> true
    ;   throw(error(whence_instance(Text, GoalText), _)) ),
    names(Goal, Names),
    format(string(Shown), "~W", [Goal, [quoted(true), variable_names(Names), module(user)]]),
    out(Out), line(Out, [instance, text(Shown)]).
values((A, B)) :- !, values(A), values(B).
values(_ = _).

:- multifile prolog:error_message//1.
prolog:error_message(whence_instance(Text, Goal)) -->
    [ '~w is no answer of ~w, nor says what its variables should be (X = 1, Y = 2)'-[Text, Goal] ].

/*  The goal itself is the root where it calls one predicate of the user; any other goal becomes
    the body of a clause, whose head has the goal as its argument. */
root_goal(M, Goal, Goal) :-
    callable(Goal), \+ control(Goal),
    functor(Goal, Name, Arity), number_of(M:Name/Arity, _, Is), Is \== library, !.
root_goal(M, Goal, 'whence goal'(Goal)) :-
    assertz(M:('whence goal'(Goal) :- Goal), Ref),
    assertz(chosen_root(Ref)).

control((_, _)).
control((_ ; _)).
control((_ -> _)).
control((_ *-> _)).
control(\+ _).
control(!).

solve(Goal, Mode, Bindings, Solutions, State, Out, Ended) :-
    catch(answers(Goal, Mode, Bindings, Solutions, State, Out, Ended), Error,
          ( stop(Mode), raised(Error, Out, Ended) )).

raised(Error, Out, Ended) :-
    nb_setarg(1, Ended, raised),
    keep(Error, Number),
    line(Out, [raised, Number]).

answers(Goal, Mode, Bindings, Solutions, State, Out, Ended) :-
    start(Mode),
    call(Goal),
    (   stop(Mode) ; start(Mode), fail ),
    arg(1, State, N0), N is N0 + 1, nb_setarg(1, State, N),
    answer(Bindings, Out),
    N >= Solutions, !,
    nb_setarg(1, Ended, more).
answers(_, Mode, _, _, _, _, _) :- stop(Mode).

start(traced) :- assertz(running), trace.
start(plain).
stop(traced) :- notrace, nodebug, retractall(running).
stop(plain).

answer(Bindings, Out) :-
    copy_term(Bindings, Copy, Residue),
    bindings_terms(Copy, Terms, Free),
    append(Terms, Residue, All),
    names(All, Names0),
    append(Free, Names0, Names),
    answer_text(All, Names, Text),
    line(Out, [answer, text(Text)]).

bindings_terms([], [], []).
bindings_terms([Name=Value|Rest], Terms, Free) :-
    (   var(Value), \+ shared(Value, Rest)
    ->  Terms = More, Free = [Name=Value|MoreFree]
    ;   Terms = [Name=Value|More], Free = MoreFree ),
    bindings_terms(Rest, More, MoreFree).
shared(Variable, Rest) :- member(_=Other, Rest), Other == Variable, !.

answer_text([], _, "true") :- !.
answer_text(All, Names, Text) :-
    findall(T, ( member(One, All), one_text(One, Names, T) ), Texts),
    atomic_list_concat(Texts, ', ', Text).
one_text(Name=Value, Names, Text) :- atom(Name), !,
    text_of(Value, Names, Shown), format(string(Text), "~w = ~w", [Name, Shown]).
one_text(Goal, Names, Text) :- strip_module(Goal, _, Plain), text_of(Plain, Names, Text).

/*  Each run tells of predicates and clauses anew; terms of earlier runs can still be asked for. */
forget :-
    forget_run,
    retractall(known_predicate(_, _, _, _, _)), retractall(known_clause(_, _)).
forget_run :-
    forall(retract(chosen_root(Ref)), erase(Ref)),
    retractall(root(_)), retractall(running), retractall(told(_, _)),
    flag(whence_calls, _, 0).

% --- limits -------------------------------------------------------------------------------------

/*  limits(Events, Depth, Seconds, Skip, Opened): 0 is none. What is called Skip levels below the
    goal, or deeper, is run without being looked at; but the calls with the numbers in Opened are
    looked into as the goal is. */
watched(limits(Events, Depth, Seconds, Skip, Opened), Watch) :-
    retractall(to_open(_)), forall(member(N, Opened), assertz(to_open(N))),
    maplist(limited, [most_events(Events), deepest(Depth), skipped_from(Skip)]),
    flag(whence_events, _, 0),
    (   Seconds > 0
    ->  thread_self(Me), thread_create(watch(Me, Seconds), Watch)
    ;   Watch = none ).
limited(Fact) :-
    Fact =.. [Name, Value], Old =.. [Name, _], retractall(Old),
    ( Value > 0 -> assertz(Fact) ; true ).

unwatched(none) :- !.
unwatched(Watch) :-
    catch(thread_send_message(Watch, done), _, true), catch(thread_join(Watch), _, true).
watch(Thread, Seconds) :-
    thread_self(Me),
    (   thread_get_message(Me, done, [timeout(Seconds)]) -> true
    ;   thread_signal(Thread, whence_capture:stop_here(seconds)) ).

/*  A program that is to be stopped stays where it is, for ever, so nothing in it can catch or undo
    that; from now on another thread answers requests. */
stop_here(Why) :-
    (   retract(running)
    ->  out(Out),
        line(Out, [stopped, Why]), line(Out, [ok]), flush_output(Out), flush_output,
        current_prolog_flag(whence_in, In),
        thread_create(answer_requests(In, Out), Server),
        thread_join(Server), halt
    ;   true ).

% --- the hook -----------------------------------------------------------------------------------

user:prolog_trace_interception(Port, Frame, Choice, Action) :-
    whence_capture:running, !,
    State = state(continue),
    (   catch(whence_capture:event(Port, Frame, Choice, Chosen), Problem,
              whence_capture:hook_failed(Problem, Chosen)),
        nb_setarg(1, State, Chosen),
        fail
    ;   arg(1, State, Action),
        % After a skip only what is as shallow is told, until this says otherwise.
        (   Action == continue -> prolog_skip_level(_, very_deep) ; true )
    ).

hook_failed(Problem, continue) :-
    out(Out), message_text(Problem, Text), line(Out, [hook, text(Text)]).

/*  Told of are the calls of the user's predicates, and what these call directly. A call's caller is
    the nearest one that is told of, so that what a library calls back hangs below the library.

    This runs for every port of the program, so what an event does not need is not looked up. */
event(Port, Frame, Choice, Action) :-
    (   Port == exit -> true ; nb_setval(whence_walk, none) ),
    predicate_of(Frame, PI),
    number_of(PI, Number, Is),
    (   Is == library -> called_by_user(Frame) ; true ), !,
    flag(whence_events, Events, Events + 1),
    (   skipped_from(Skip), Port \== call, \+ told(Frame, _), \+ is_unknown_call(Port, Frame, Skip)
    ->  Action = skip
    ;   tell(Port, Frame, Number, Is, Choice, Action)
    ),
    (   Port == call -> limits(Events, Frame) ; true ).
event(_, _, _, continue).

called_by_user(Frame) :- root(_), visible_parent(Frame, -1, Parent, _), is_user_frame(Parent).

is_user_frame(Frame) :- Frame \== 0, predicate_of(Frame, PI), number_of(PI, _, Is), Is \== library.

limits(Events, Frame) :-
    ( most_events(Most), Events >= Most -> stop_here(events) ; true ),
    ( deepest(Deepest), prolog_frame_attribute(Frame, level, Level), Level > Deepest
    -> stop_here(depth) ; true ).

/*  Where not all is looked at, told(Frame, Depth) has how deep below the goal, or below a call that
    was opened, each call is that was told of. The newest stands first; as frames are numbered as
    they lie on the stack, all that lie above a new one are gone. What a call that was skipped calls
    when it is backtracked into is not told of, and known by its caller, which is not or too deep. */
told_depth(Caller, Skip, Depth) :- told(Caller, Above), !, Above < Skip, Depth is Above + 1.
told_depth(_, _, 0) :- \+ told(_, _).

now_told(Frame, Depth) :- no_more_told(Frame), asserta(told(Frame, Depth)).
no_more_told(From) :-
    (   told(Frame, _), !, Frame >= From
    ->  once(retract(told(Frame, _))), no_more_told(From)
    ;   true ).

predicate_of(Frame, PI) :-
    prolog_frame_attribute(Frame, predicate_indicator, PI0),
    (   PI0 = _:_ -> PI = PI0
    ;   prolog_frame_attribute(Frame, context_module, M), PI = M:PI0 ).

visible_parent(Frame, _, Visible, PC) :-
    prolog_frame_attribute(Frame, parent, Parent), !,
    (   prolog_frame_attribute(Frame, pc, PC0) -> true ; PC0 = -1 ),
    (   prolog_frame_attribute(Parent, hidden, false)
    ->  Visible = Parent, PC = PC0
    ;   visible_parent(Parent, PC0, Visible, PC) ).
visible_parent(_, _, 0, -1).

nearest(0, _, 0, -1) :- !.
nearest(Frame, PC, Frame, PC) :- is_emitted(Frame), !.
nearest(Frame, _, Caller, CallerPC) :-
    visible_parent(Frame, -1, Parent, PC),
    nearest(Parent, PC, Caller, CallerPC).

/*  Without a look at its callers, or the cost of an event would grow with the depth. */
is_emitted(Frame) :-
    predicate_of(Frame, PI), number_of(PI, _, Is),
    (   Is \== library -> true ; called_by_user(Frame) ).

/*  A predicate is of the user, of the user and tabled, or of a library. */
number_of(M:Name/Arity, Number, Is) :- known_predicate(Name, Arity, M, Number0, Is0), !,
    Number = Number0, Is = Is0.
number_of(PI, Number, Is) :-
    classify(PI, Is0),
    (   Is0 == user, PI = M:Name/Arity, functor(Head, Name, Arity), predicate_property(M:Head, tabled)
    ->  Is = tabled ; Is = Is0 ),
    number_predicate(PI, Is, Number).

classify(whence_capture:_, library) :- !.
classify(_:'whence goal'/1, user) :- !.
classify(M:Name/Arity, Is) :-
    functor(Head, Name, Arity),
    (   predicate_property(M:Head, imported_from(Home)) -> true ; Home = M ),
    (   Home == whence_capture -> Is = library
    ;   predicate_property(Home:Head, system) -> Is = library
    ;   predicate_property(Home:Head, file(File))
    ->  ( library_file(File) -> Is = library ; Is = user )
    ;   predicate_property(Home:Head, dynamic) -> Is = user
    ;   predicate_property(Home:Head, defined) -> Is = library
    ;   Is = user   % unknown: the error that it raises is the user's
    ).

library_file(File) :- current_prolog_flag(home, Home), sub_atom(File, 0, _, _, Home).

number_predicate(M:Name/Arity, Is, Number) :-
    flag(whence_predicates, Number, Number + 1),
    assertz(known_predicate(Name, Arity, M, Number, Is)),
    functor(Head, Name, Arity),
    (   predicate_property(M:Head, file(File)), predicate_property(M:Head, line_count(Line))
    ->  true ; File = '', Line = 0 ),
    (   predicate_property(M:Head, imported_from(Home)) -> true ; Home = M ),
    out(Out),
    line(Out, [predicate, Number, Is, Arity, Line, text(Home), text(Name), text(File)]).

tell(call, Frame, Number, Is, _, Action) :- !,
    (   root(_) -> true ; assertz(root(Frame)) ),
    visible_parent(Frame, -1, Parent, PC0),
    nearest(Parent, PC0, Caller, PC),
    (   skipped_from(Skip)
    ->  (   told_depth(Caller, Skip, Depth)
        ->  tell_call(Frame, Number, Caller, PC), skipping(Frame, Is, Depth, Skip, Action)
        ;   Action = skip )
    ;   tell_call(Frame, Number, Caller, PC),
        (   Is == tabled -> Action = skip ; Action = continue ) ).
tell(unify, Frame, _, Is, _, continue) :- !,
    (   Is \== library, prolog_frame_attribute(Frame, clause, Ref)
    ->  clause_number(Ref, Number), out(Out), format(Out, "u\t~d\t~d\n", [Frame, Number])
    ;   true ).
tell(exit, Frame, _, Is, Choice, continue) :- !,
    prolog_frame_attribute(Frame, goal, Goal),
    nb_setval(whence_called, 0),
    (   choice_within(Choice, Frame) -> More = 1 ; More = 0 ),
    keep(Goal, Term, States),
    out(Out),
    skipped_inferences(Is, Frame),
    format(Out, "x\t~d\t~d\t~d\t~d\n", [Frame, More, Term, States]).
tell(fail, Frame, _, Is, _, continue) :- !,
    nb_setval(whence_called, 0),
    out(Out), skipped_inferences(Is, Frame), format(Out, "f\t~d\n", [Frame]).
tell(redo(PC), Frame, _, _, _, Action) :- !,
    out(Out), format(Out, "r\t~d\t~d\n", [Frame, PC]),
    (   skipped_from(Skip), told(Frame, Skip) -> Action = skip ; Action = continue ).
tell(exception(Error), Frame, Number, Is, _, continue) :- !,
    (   Error = error(existence_error(procedure, _), _), is_undefined(Frame),
        \+ nb_getval(whence_called, Frame)
    ->  visible_parent(Frame, -1, Parent, PC0),   % where it is not known yet, it has no call port
        nearest(Parent, PC0, Caller, PC),
        tell_call(Frame, Number, Caller, PC),
        flag(whence_calls, Calls, Calls + 1)
    ;   true ),
    keep(Error, Term, _), out(Out), skipped_inferences(Is, Frame), line(Out, [e, Frame, Term]).
tell(cut_call(PC), Frame, _, _, Choice, continue) :- !,
    pruned(Choice, Frame, Pruned), out(Out), line(Out, [t, Frame, PC, Pruned]).
tell(_, _, _, _, _, continue).

tell_call(Frame, Number, Caller, PC) :-
    nb_setval(whence_called, Frame),
    prolog_frame_attribute(Frame, goal, Goal),
    keep(Goal, Term, States),
    out(Out),
    format(Out, "c\t~d\t~d\t~d\t~d\t~d\t~d\n", [Frame, Caller, PC, Number, Term, States]).

skipping(Frame, Is, Depth0, Skip, Action) :-
    flag(whence_calls, Before, Before + 1), Nth is Before + 1,
    (   to_open(Nth) -> Depth = 0 ; Depth = Depth0 ),
    now_told(Frame, Depth),
    (   Is == tabled -> Action = skip
    ;   Depth =:= Skip, can_hide(Is, Frame) -> Action = skip, tell_inferences(Frame)
    ;   Action = continue ).

is_unknown_call(exception(error(existence_error(procedure, _), _)), Frame, Skip) :-
    is_undefined(Frame),
    visible_parent(Frame, -1, Parent, PC), nearest(Parent, PC, Caller, _),
    told_depth(Caller, Skip, _).

is_undefined(Frame) :-
    predicate_of(Frame, M:Name/Arity), functor(Head, Name, Arity),
    \+ predicate_property(M:Head, defined).

/*  How much was done out of sight, in a call at the depth from which nothing is looked at. */
skipped_inferences(Is, Frame) :-
    (   skipped_from(Skip), told(Frame, Skip), can_hide(Is, Frame)
    ->  tell_inferences(Frame) ; true ).

/*  Whether something of the user may happen in a call: always, but in what only computes. */
can_hide(user, _).
can_hide(library, Frame) :-
    predicate_of(Frame, M:Name/Arity), functor(Head, Name, Arity),
    predicate_property(M:Head, meta_predicate(Modes)), arg(_, Modes, Mode),
    ( integer(Mode) ; Mode == (^) ; Mode == (//) ), !.

tell_inferences(Frame) :-
    statistics(inferences, Inferences), out(Out), format(Out, "i\t~d\t~d\n", [Frame, Inferences]).

choice_within(Choice, Frame) :-
    real_choice(Choice, Of),
    Of >= Frame.

/*  The frame of the newest choice point that can give an answer, or -1. The debugger's own choice
    points stay behind when frames are left one after the other, so what was found at one exit is
    remembered until something else happens, or this walk would be made from each of them. */
real_choice(Choice, Of) :- nb_getval(whence_walk, walk(Choice, Known)), !, Of = Known.
real_choice(Choice, Of) :- walk(Choice, Of), nb_setval(whence_walk, walk(Choice, Of)).

walk(Choice, Of) :-
    prolog_choice_attribute(Choice, type, Type), memberchk(Type, [clause, jump, foreign]), !,
    prolog_choice_attribute(Choice, frame, Of).
walk(Choice, Of) :- prolog_choice_attribute(Choice, parent, Parent), !, walk(Parent, Of).
walk(_, -1).

/*  What a cut throws away: choice points newer than the frame that cuts, or its own. */
pruned(Choice, Frame, Pruned) :-
    prolog_choice_attribute(Choice, frame, Of), Of >= Frame, !,
    (   prolog_choice_attribute(Choice, type, clause), prolog_choice_attribute(Choice, clause, Ref)
    ->  clause_number(Ref, Number), Pruned = [[Of, Number]|More]
    ;   Pruned = More ),
    (   prolog_choice_attribute(Choice, parent, Parent) -> pruned(Parent, Frame, More) ; More = [] ).
pruned(_, _, []).

/*  A number for the states of the arguments: 1, then for each two bits, as events.py reads them. */
states(Plain, Ground, States) :-
    (   compound(Plain)
    ->  functor(Plain, _, Arity),
        (   Ground == true, all_ground(Arity, States) -> true
        ;   argument_states(1, Arity, Plain, 1, States) )
    ;   States = 1 ).
all_ground(1, 0b101).
all_ground(2, 0b10101).
all_ground(3, 0b1010101).
all_ground(4, 0b101010101).
all_ground(5, 0b10101010101).
argument_states(Nth, Arity, _, States, States) :- Nth > Arity, !.
argument_states(Nth, Arity, Plain, States0, States) :-
    arg(Nth, Plain, Argument),
    (   var(Argument) -> Code = 0 ; ground(Argument) -> Code = 1 ; Code = 2 ),
    States1 is States0 << 2 \/ Code, Next is Nth + 1,
    argument_states(Next, Arity, Plain, States1, States).

% --- clauses ------------------------------------------------------------------------------------

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

% --- terms --------------------------------------------------------------------------------------

/*  A term is kept as a record, the constraints on its variables as goals beside it. */
keep(Goal, Number) :- keep(Goal, Number, _).
keep(Goal, Number, States) :-
    flag(whence_terms, Number, Number + 1),
    strip_module(Goal, _, Told),
    (   ground(Told) -> Ground = true ; Ground = false ),
    states(Told, Ground, States),
    goal_of_root(Told, Plain),
    (   Ground == true -> recordz(Number, Plain)
    ;   term_attvars(Plain, []) -> recordz(Number, Plain)
    ;   constrained(Plain, Term), recordz(Number, Term) ).

constrained(Plain, Term) :-
    acyclic_term(Plain),
    catch(copy_term(Plain, Copy, Constraints), _, fail), acyclic_term(Constraints), !,
    ( Constraints == [] -> Term = Copy ; Term = '$whence_constrained'(Copy, Constraints) ).
constrained(Plain, Term) :- copy_term_nat(Plain, Term).

goal_of_root('whence goal'(Goal), Goal) :- !.
goal_of_root(Goal, Goal).

/*  Of what is cyclic only the text is told. */
term_of(Number, Term) :-
    recorded(Number, Kept), !,
    (   acyclic_term(Kept) -> Term = Kept
    ;   text_of(Kept, [], Text), Term = '$whence_text'(Text) ).

tell_term(Number) :-
    term_of(Number, Term), names(Term, Names), text_of(Term, Names, Text),
    out(Out), line(Out, [term, Number, text(Text)]).

tell_item(Number) :-
    term_of(Number, Term), item_text(Term, Text), out(Out), line(Out, [item, Number, text(Text)]).

tell_digest(Number) :-
    term_of(Number, Term),
    variant_sha1(Term, Digest),
    ( write_length(Term, Length, [quoted(true), max_length(100000)]) -> true ; Length = 100000 ),
    out(Out), line(Out, [digest, Number, Digest, Length]).

names(Term, Names) :- term_variables(Term, Variables), name_variables(Variables, 0, Names).
name_variables([], _, []).
name_variables([V|More], N, [Name=V|Names]) :-
    Letter is 0'A + N mod 26, Round is N // 26,
    (   Round =:= 0 -> format(atom(Name), "_~c", [Letter])
    ;   format(atom(Name), "_~c~d", [Letter, Round]) ),
    Next is N + 1, name_variables(More, Next, Names).

text_of(Term, _, Text) :- nonvar(Term), Term = '$whence_text'(Text), !.
text_of(Term, Names, Text) :- nonvar(Term), Term = '$whence_constrained'(Plain, Constraints), !,
    text_of(Plain, Names, Shown),
    findall(T, ( member(C, Constraints), one_text(C, Names, T) ), Texts),
    atomic_list_concat(Texts, ', ', Where),
    format(string(Text), "~w where ~w", [Shown, Where]).
text_of(Term, _, Text) :- cyclic_term(Term), !,
    term_factorized(Term, Skeleton, Substitutions),
    names(Skeleton-Substitutions, Names),
    text_of(@(Skeleton, Substitutions), Names, Text).
text_of(Term, Names, Text) :-
    format(string(Text), "~W",
           [Term, [quoted(true), spacing(next_argument), variable_names(Names), module(user)]]).

/*  One line: words and numbers as they are, texts with what would break a line escaped. */
line(Out, Fields) :- fields(Fields, Out), nl(Out).
fields([Field], Out) :- !, field(Field, Out).
fields([Field|More], Out) :- field(Field, Out), put_char(Out, '\t'), fields(More, Out).
field(text(Text), Out) :- !, format(string(S), "~w", [Text]), escaped(S, Out).
field(Field, Out) :- write(Out, Field).
escaped(Text, Out) :-
    (   sub_string(Text, _, 1, _, Odd), memberchk(Odd, ["\\", "\n", "\t", "\r"])
    ->  string_codes(Text, Codes), forall(member(C, Codes), escaped_code(C, Out))
    ;   write(Out, Text) ).
escaped_code(0'\\, Out) :- !, write(Out, '\\\\').
escaped_code(0'\n, Out) :- !, write(Out, '\\n').
escaped_code(0'\t, Out) :- !, write(Out, '\\t').
escaped_code(0'\r, Out) :- !, write(Out, '\\r').
escaped_code(C, Out) :- put_char(Out, C).
