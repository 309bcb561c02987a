/*  The tracer's hook: writes the events of ports. A part of capture.pl.

    It runs for every port of the program, so its cost is the cost of a trace. It binds nothing, and
    changes nothing but its state and the kept terms.
*/

user:prolog_trace_interception(Port, Frame, Choice, Action) :-
    whence_capture:running, !,
    (   \+ nb_current(whence_state, _)
    ->  % Engines and threads inherit the tracer of their creator; their frames are not this goal's.
        whence_capture:unseen('engines or threads'),
        Action = nodebug
    ;   \+ \+ whence_capture:is_skipped(Port, Frame, Choice)
    ->  Action = skip
    ;   % After a skip the tracer reports only ports that are as shallow, until this resets it.
        prolog_skip_level(_, very_deep),
        Action = continue ).

is_skipped(Port, Frame, Choice) :-
    catch(event(Port, Frame, Choice, Action), Problem, hook_failed(Problem, Action)),
    Action == skip.

/*  Notes untraced code; the notes are written when the run has ended. */
unseen(What) :- ( was_unseen(What) -> true ; assertz(was_unseen(What)) ).
send_unseen(Out) :- forall(retract(was_unseen(What)), line(Out, [unseen, text(What)])).

hook_failed(Problem, continue) :-
    out(Out), message_text(Problem, Text), line(Out, [hook, text(Text)]).

/*  What the hook keeps from one port to the next, changed in place: a flag would take ten times as
    long, and this runs for every port of the program. */
place(event_count, 1).
place(next_term, 2).
place(block_end, 3).     % numbers of terms are taken in blocks, as other threads run goals too
place(last_called, 4).   % the frame of the last reported call; 0 after an exit or a failure
place(search_start, 5).     % where the last search of answering_choice/3 started; -1: outdated
place(search_result, 6).       % the frame that this search found
place(most_events, 7).
place(deepest, 8).
place(skip, 9).          % the depth below the goal from which calls are not traced; 0: all are
place(printed, 10).      % the characters of output so far
place(output, 11).       % the stream that holds a copy of the output

goal_expansion(state(Name, State, Value), arg(At, State, Value)) :- place(Name, At).
goal_expansion(set_state(Name, State, Value), nb_setarg(At, State, Value)) :- place(Name, At).

new_state :-
    None = 0xffffffffffff,
    ( most_events(Most) -> true ; Most = None ),
    ( deepest(Deepest) -> true ; Deepest = None ),
    ( skipped_from(Skip) -> true ; Skip = 0 ),
    output_copy(Copy),
    nb_setval(whence_state, state(0, 0, 0, 0, -1, -1, Most, Deepest, Skip, 0, Copy)).

/*  Events are written for calls of the user's predicates and for the calls that these make. A
    call's caller is the nearest such call, so a goal that a library calls is below the library.

    What an event does not need is not looked up. event/4 fails if there is nothing to write. */
event(call, Frame, _, Action) :- !,
    nb_getval(whence_state, State), set_state(search_start, State, -1),
    send_printed(State),
    goal_of(Frame, Goal, Number, Kind),
    ( Kind == library, changes_at(call, Goal) -> send_changes(call, Goal, Frame, State) ; true ),
    (   Kind == library, fills_table(Goal), tabled_parent(Frame, _, _)
    ->  Action = skip
    ;   Kind == library, hides(Goal, What, Skips)
    ->  ignore(called(State, Frame, Goal, Number, Kind, _)),
        note_hidden(Frame, What), ( Skips == skip -> Action = skip ; Action = continue )
    ;   Kind == chr
    ->  (   called(State, Frame, Goal, Number, Kind, Action)
        ->  send_inferences(Frame), note_hidden(Frame, chr) ; Action = skip )
    ;   Kind == chr_part
    ->  Action = skip, visible_parent(Frame, -1, Parent, _), note_hidden(Parent, chr)
    ;   called(State, Frame, Goal, Number, Kind, Action),
        ( Kind == foreign -> note_hidden(Frame, foreign) ; true ) ).
event(unify, Frame, _, Action) :- !,
    prolog_frame_attribute(Frame, clause, Ref),
    (   user_clause(Ref, Number) -> true
    ;   predicate_of(Frame, PI), number_of(PI, _, Kind), Kind \== library, Kind \== chr_part,
        clause_number(Ref, Number), assertz(user_clause(Ref, Number)) ),
    nb_getval(whence_state, State), one_more_event(State, _),
    (   is_reported(State, Frame)
    ->  Action = continue, out(Out), format(Out, 'u\t~d\t~d\n', [Frame, Number])
    ;   Action = skip ).
event(exit, Frame0, Choice, Action) :- !,
    goal_of(Frame0, Goal0, _, Kind0),
    nb_getval(whence_state, State), send_printed(State),
    ( Kind0 == library, changes_at(exit, Goal0) -> send_changes(exit, Goal0, Frame0, State) ; true ),
    (   Kind0 == library, fills_table(Goal0), tabled_parent(Frame0, Frame, PI)
    ->  number_of(PI, _, Kind), wrapped_goal(Frame, PI, Goal)
    ;   Frame = Frame0, Goal = Goal0, Kind = Kind0 ),
    has_call(Kind, Frame),
    one_more_event(State, _),
    (   is_reported(State, Frame)
    ->  Action = continue,
        set_state(last_called, State, 0),
        (   answering_choice(State, Choice, Of), Of >= Frame -> More = 1 ; More = 0 ),
        keep(State, Goal, Term, States),
        out(Out),
        skipped_inferences(State, Kind, Frame),
        format(Out, 'x\t~d\t~d\t~d\t~d\n', [Frame, More, Term, States])
    ;   Action = skip ).
event(Port0, Frame0, Choice, Action) :-
    nb_getval(whence_state, State), set_state(search_start, State, -1), send_printed(State),
    predicate_of(Frame0, PI0),
    number_of(PI0, Number0, Kind0),
    (   Port0 == fail, PI0 = _:retract/1
    ->  prolog_frame_attribute(Frame0, goal, Goal0), strip_module(Goal0, _, Retract),
        send_changes(fail, Retract, Frame0, State)
    ;   true ),
    (   Kind0 == library, fills_table_of(PI0), tabled_parent(Frame0, Frame, PI)
    ->  number_of(PI, Number, Kind), port_of_tabled(Port0, Port)
    ;   Frame = Frame0, Number = Number0, Kind = Kind0, Port = Port0 ),
    has_call(Kind, Frame),
    one_more_event(State, _),
    (   ( is_reported(State, Frame) ; is_unknown_call(Port, Frame, State) )
    ->  send_event(Port, Frame, Number, Kind, Choice, State, Action)
    ;   Action = skip ).

/*  hides(Goal, What, Skip): library predicates that run code, or change state, out of sight. With
    `skip` what they call is not traced: they would count the inferences of the hook. */
hides(call_with_inference_limit(_, _, _), inferences, skip).
hides(thread_create(_), threads, trace).
hides(thread_create(_, _), threads, trace).
hides(thread_create(_, _, _), threads, trace).
hides(thread_create_in_pool(_, _, _, _), threads, trace).
hides(thread_send_message(_, _), threads, trace).
hides(thread_send_message(_, _, _), threads, trace).
hides(thread_get_message(_), threads, trace).
hides(thread_get_message(_, _), threads, trace).
hides(thread_get_message(_, _, _), threads, trace).
hides(thread_peek_message(_), threads, trace).
hides(thread_peek_message(_, _), threads, trace).
hides(thread_signal(_, _), threads, trace).
hides(thread_join(_, _), threads, trace).
hides(thread_exit(_), threads, trace).
hides(engine_create(_, _, _), engines, trace).
hides(engine_create(_, _, _, _), engines, trace).
hides(engine_next(_, _), engines, trace).
hides(engine_next_reified(_, _), engines, trace).
hides(engine_post(_, _), engines, trace).
hides(engine_post(_, _, _), engines, trace).
hides(engine_fetch(_), engines, trace).
hides(reset(_, _, _), continuations, trace).
hides(shift(_), continuations, trace).
hides(shift_for_copy(_), continuations, trace).
hides(call_continuation(_), continuations, trace).
hides(find_chr_constraint(_), chr, trace).
hides(current_chr_constraint(_), chr, trace).
hides(notrace, tracer, trace).
hides(nodebug, tracer, trace).
hides(tracing, tracer, trace).
hides(snapshot(_), transactions, trace).
hides(transaction(_), transactions, trace).

/*  Notes what is out of sight, with the nearest call that was reported. */
note_hidden(Frame, What) :-
    (   root(_), nearest(Frame, -1, Caller, _), Caller \== 0
    ->  out(Out), format(Out, 'n\t~d\t~w\n', [Caller, What])
    ;   true ).

called(State, Frame, Goal, Number, Kind, Action) :-
    visible_parent(Frame, -1, Parent, PC0),
    (   Kind \== library
    ->  (   root(_) -> nearest(Parent, PC0, Caller, PC)
        ;   assertz(root(Frame)), Caller = 0, PC = -1 )
    ;   root(_), is_user_frame(Parent), \+ tests_modes(Frame), Caller = Parent, PC = PC0 ),
    one_more_event(State, Events),
    state(skip, State, Skip),
    (   Skip =:= 0
    ->  send_call(State, Frame, Goal, Number, Caller, PC),
        (   opens_table(Kind, Caller) -> send_inferences(Frame) ; true ),
        ( Kind == chr -> Action = skip ; Action = continue )
    ;   report_depth(Caller, Skip, Depth)
    ->  send_call(State, Frame, Goal, Number, Caller, PC),
        skipping(Frame, Kind, Depth, Skip, Action)
    ;   Action = skip ),
    limits(State, Events, Frame).

/*  A tabled call has no port but the first: it becomes a call of the predicate that fills its table,
    which is skipped, and whose ports are taken for those of the tabled call. */
fills_table(start_tabling(_, _, _)).
fills_table(start_moded_tabling(_, _, _, _, _)).
fills_table(start_subsumptive_tabling(_, _, _)).
fills_table(start_abstract_tabling(_, _, _)).
fills_table_of(_:Name/Arity) :- functor(Goal, Name, Arity), fills_table(Goal), !.
/*  A redo inside of what fills the table names a place in its clause, not in the user's. */
port_of_tabled(redo(_), redo(0)) :- !.
port_of_tabled(Port, Port).
tabled_parent(Frame, Parent, M:Name/Arity) :-
    prolog_frame_attribute(Frame, parent, Parent),
    predicate_of(Parent, M:Wrapper/Arity), wraps(Wrapper, Name).
wraps(Wrapper, Name) :- atom_concat('$wrap$', Name, Wrapper).
wrapped_goal(Frame, _:Name/_, Goal) :-
    prolog_frame_attribute(Frame, goal, Goal0), strip_module(Goal0, _, Wrapped),
    Wrapped =.. [_|Arguments], Goal =.. [Name|Arguments].

/*  How a tabled predicate fills its table is not traced: it suspends goals and resumes them. When
    the table is complete, its clauses can be run with it (run_table/2); then the root is traced. */
opens_table(Kind, _) :- is_tabled(Kind), \+ table_run, !.
opens_table(Kind, Caller) :- is_tabled(Kind), Caller \== 0.

is_tabled(tabled).
is_tabled(moded).
is_tabled(lattice).

one_more_event(State, Events) :-
    state(event_count, State, Events), More is Events + 1, set_state(event_count, State, More).

is_reported(State, Frame) :-
    state(skip, State, Skip),
    (   Skip =:= 0 -> true ; reported(Frame, _) -> true ).

/*  Whether there is a call event of a frame. A port of any other must not be written: its number may
    be that of an earlier frame, whose call would take the port for its own. */
has_call(chr_part, _) :- !, fail.
has_call(library, Frame) :- !, called_by_user(Frame).
has_call(_, _).

called_by_user(Frame) :-
    root(_), visible_parent(Frame, -1, Parent, _), is_user_frame(Parent), \+ tests_modes(Frame).

/*  What wraps a predicate with aggregated arguments looks at them before it fills the table. */
tests_modes(Frame) :- has_moded, tabled_parent(Frame, _, _).

is_user_frame(Frame) :-
    Frame \== 0, predicate_of(Frame, PI), number_of(PI, _, Kind), Kind \== library, Kind \== chr_part.

limits(State, Events, Frame) :-
    ( state(most_events, State, Most), Events >= Most -> stop_here(events) ; true ),
    ( state(deepest, State, Deepest), prolog_frame_attribute(Frame, level, Level), Level > Deepest
    -> stop_here(depth) ; true ).

/*  If deep calls are skipped, reported(Frame, Depth) holds the depth of each reported call below the
    goal, or below a call in to_open/1. The newest comes first. Frames are numbered by their place on
    the stack, so a new frame shows that all with a higher number are gone. Backtracking into a
    skipped call makes calls that must not be reported: their caller is unreported, or too deep. */
report_depth(Caller, Skip, Depth) :- reported(Caller, Above), !, Above < Skip, Depth is Above + 1.
report_depth(_, _, 0) :- \+ reported(_, _).

note_reported(Frame, Depth) :- forget_reported(Frame), asserta(reported(Frame, Depth)).
forget_reported(From) :-
    (   reported(Frame, _), !, Frame >= From
    ->  once(retract(reported(Frame, _))), forget_reported(From)
    ;   true ).

/*  The goal of a frame, without its module, and its predicate. */
goal_of(Frame, Goal, Number, Kind) :-
    prolog_frame_attribute(Frame, goal, Goal0),
    (   Goal0 = _:_
    ->  strip_module(Goal0, _, Goal), predicate_of(Frame, PI), number_of(PI, Number, Kind)
    ;   Goal = Goal0, prolog_frame_attribute(Frame, context_module, M),
        (   known_goal(Goal, M, Known, KnownKind) -> Number = Known, Kind = KnownKind
        ;   functor(Goal, Name, Arity), number_of(M:Name/Arity, Number, Kind) ) ).

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

/*  Does not look at further callers: the cost of an event would grow with the depth. */
is_emitted(Frame) :- is_user_frame(Frame), !.
is_emitted(Frame) :- called_by_user(Frame).

/*  The kind of a predicate: library, chr_part, or the user's: user, foreign, chr, and tabled, moded
    (a table aggregates arguments), lattice (by a predicate). */
number_of(M:Name/Arity, Number, Kind) :- known_predicate(Name, Arity, M, Number0, Kind0), !,
    Number = Number0, Kind = Kind0.
number_of(PI, Number, Kind) :-
    classify(PI, Kind0),
    (   Kind0 == user, PI = M:Name/Arity, functor(Head, Name, Arity), predicate_property(M:Head, tabled)
    ->  tabled_kind(M, Head, Kind) ; Kind = Kind0 ),
    number_predicate(PI, Kind, Number).

:- dynamic has_moded/0.
tabled_kind(M, Head, Kind) :-
    ( predicate_property(M:Head, imported_from(Home)) -> true ; Home = M ),
    (   catch(Home:'$table_mode'(Head, Variant, _), _, fail), Variant \= Head
    ->  (   catch(clause(Home:'$table_update'(Head, _, _, _), Body), _, fail), calls_user(Body, Home)
        ->  Kind = lattice ; Kind = moded ),
        ( has_moded -> true ; assertz(has_moded) )
    ;   Kind = tabled ).
calls_user((A, B), M) :- !, ( calls_user(A, M) -> true ; calls_user(B, M) ).
calls_user((A ; B), M) :- !, ( calls_user(A, M) -> true ; calls_user(B, M) ).
calls_user((A -> B), M) :- !, ( calls_user(A, M) -> true ; calls_user(B, M) ).
calls_user(M:Goal, _) :- !, calls_user(Goal, M).
calls_user(Goal, M) :- functor(Goal, Name, Arity), classify(M:Name/Arity, user).

classify(whence_capture:_, library) :- !.
classify(_:Name/_, library) :- wraps(Name, _), !.
classify(_:'whence goal'/1, user) :- !.
classify(M:Name/Arity, Kind) :-
    functor(Head, Name, Arity),
    (   predicate_property(M:Head, imported_from(Home)) -> true ; Home = M ),
    (   Home == whence_capture -> Kind = library
    ;   predicate_property(Home:Head, system) -> Kind = library
    ;   predicate_property(Home:Head, file(File))
    ->  (   library_file(File) -> Kind = library
        ;   chr_kind(Home, Name, Arity, Kind) -> true
        ;   Kind = user )
    ;   predicate_property(Home:Head, dynamic) -> Kind = user
    ;   predicate_property(Home:Head, foreign), users_module(Home) -> Kind = foreign
    ;   predicate_property(Home:Head, defined) -> Kind = library
    ;   Kind = user   % unknown: the error that it raises is the user's
    ).

/*  What the compiler of CHR made of rules: chr is a constraint, chr_part is one of its parts. */
chr_kind(M, Name, Arity, Kind) :-
    predicate_property(M:'$chr_initialization', defined),
    (   format(atom(First), "~w___~d__0", [Name, Arity]), current_predicate(M:First/_) -> Kind = chr
    ;   is_chr_part(Name) -> Kind = chr_part ).
is_chr_part(attr_unify_hook).
is_chr_part(attribute_goals).
is_chr_part(Name) :- sub_atom(Name, 0, _, _, $), !.
is_chr_part(Name) :- sub_atom(Name, _, _, _, '___'), !.

users_module(user) :- !.
users_module(M) :- module_property(M, file(File)), \+ library_file(File).

library_file(File) :- current_prolog_flag(home, Home), sub_atom(File, 0, _, _, Home).

number_predicate(M:Name/Arity, Kind, Number) :-
    flag(whence_predicates, Number, Number + 1),
    functor(Head, Name, Arity),
    assertz(known_predicate(Name, Arity, M, Number, Kind)), assertz(known_goal(Head, M, Number, Kind)),
    ( file_of(M:Name/Arity, File, Line) -> true ; File = '', Line = 0 ),
    (   predicate_property(M:Head, imported_from(Home)) -> true ; Home = M ),
    out(Out),
    line(Out, [predicate, Number, Kind, Arity, Line, text(Home), text(Name), text(File)]).

send_event(fail, Frame, _, Kind, _, State, continue) :- !,
    set_state(last_called, State, 0),
    out(Out), skipped_inferences(State, Kind, Frame), format(Out, 'f\t~d\n', [Frame]).
send_event(redo(PC), Frame, _, _, _, State, Action) :- !,
    out(Out), format(Out, 'r\t~d\t~d\n', [Frame, PC]),
    (   state(skip, State, Skip), Skip > 0, reported(Frame, Skip) -> Action = skip ; Action = continue ).
send_event(exception(Error), Frame, Number, Kind, _, State, continue) :- !,
    (   Error = error(existence_error(procedure, _), _), is_undefined(Frame),
        \+ state(last_called, State, Frame)
    ->  visible_parent(Frame, -1, Parent, PC0),   % a predicate that Prolog does not know yet has no call port
        nearest(Parent, PC0, Caller, PC),
        goal_of(Frame, Goal, _, _),
        send_call(State, Frame, Goal, Number, Caller, PC),
        flag(whence_calls, Calls, Calls + 1)
    ;   true ),
    keep(State, Error, Term, _), out(Out), skipped_inferences(State, Kind, Frame),
    (   Error = error(determinism_error(_, det, nondet, _), _) -> Refused = 1 ; Refused = 0 ),
    line(Out, [e, Frame, Term, Refused]).
send_event(cut_call(PC), Frame, _, _, Choice, _, continue) :- !,
    pruned(Choice, Frame, Pruned), out(Out), line(Out, [t, Frame, PC, Pruned]).
send_event(_, _, _, _, _, _, continue).

send_call(State, Frame, Goal, Number, Caller, PC) :-
    set_state(last_called, State, Frame),
    keep(State, Goal, Term, States),
    out(Out),
    format(Out, 'c\t~d\t~d\t~d\t~d\t~d\t~d\n', [Frame, Caller, PC, Number, Term, States]).

skipping(Frame, Kind, Depth0, Skip, Action) :-
    flag(whence_calls, Before, Before + 1), Nth is Before + 1,
    (   to_open(Nth) -> Depth = 0
    ;   Depth0 =:= Skip, can_hide(Kind, Frame), changes_state(Kind, Frame) -> Depth is Skip - 1
    ;   Depth = Depth0 ),
    note_reported(Frame, Depth),
    (   is_tabled(Kind) -> Action = continue, send_inferences(Frame)
    ;   Kind == chr -> Action = skip
    ;   Depth =:= Skip, can_hide(Kind, Frame) -> Action = skip, send_inferences(Frame)
    ;   Action = continue ).

is_unknown_call(exception(error(existence_error(procedure, _), _)), Frame, State) :-
    is_undefined(Frame), state(skip, State, Skip),
    visible_parent(Frame, -1, Parent, PC), nearest(Parent, PC, Caller, _),
    report_depth(Caller, Skip, _).

is_undefined(Frame) :-
    predicate_of(Frame, M:Name/Arity), functor(Head, Name, Arity),
    \+ predicate_property(M:Head, defined).

/*  The number of inferences in a skipped call. */
skipped_inferences(_, chr, Frame) :- !, send_inferences(Frame).
skipped_inferences(_, Kind, Frame) :- is_tabled(Kind), !,
    ( table_run, root(Frame) -> true ; send_inferences(Frame) ).
skipped_inferences(State, Kind, Frame) :-
    (   state(skip, State, Skip), Skip > 0, reported(Frame, Skip), can_hide(Kind, Frame)
    ->  send_inferences(Frame) ; true ).

/*  Whether a call may change clauses, or read those that change. What it does with them is part of
    the questions about all of its callers, so it is traced as deep as that goes. */
:- dynamic known_to_change/2.
changes_state(library, Frame) :- !,
    prolog_frame_attribute(Frame, goal, Goal0), strip_module(user:Goal0, M, Goal),
    catch(whence_judging:reaches(clauses, M, Goal, _), _, fail).
changes_state(_, Frame) :-
    predicate_of(Frame, M:Name/Arity),
    (   known_to_change(M:Name/Arity, Is) -> Is == true
    ;   functor(Head, Name, Arity),
        (   catch(whence_judging:reaches(clauses, M, Head, _), _, fail)
        ->  Is = true ; Is = false ),
        assertz(known_to_change(M:Name/Arity, Is)), Is == true ).

/*  Whether a call can run the user's code: a library predicate can if it takes goals. */
can_hide(user, _).
can_hide(library, Frame) :-
    predicate_of(Frame, M:Name/Arity), functor(Head, Name, Arity),
    predicate_property(M:Head, meta_predicate(Modes)), arg(_, Modes, Mode),
    ( integer(Mode) ; Mode == (^) ; Mode == (//) ), !.

send_inferences(Frame) :-
    statistics(inferences, Inferences), out(Out), format(Out, "i\t~d\t~d\n", [Frame, Inferences]).

/*  The frame of the newest choice point that can give an answer, or -1. The debugger leaves choice
    points of its own behind, which the exits of nested calls would all have to search; so the result
    of the first exit is kept until another port is reported. */
answering_choice(State, Choice, Of) :- state(search_start, State, Choice), !, state(search_result, State, Of).
answering_choice(State, Choice, Of) :-
    search_choice(Choice, Of), set_state(search_start, State, Choice), set_state(search_result, State, Of).

search_choice(Choice, Of) :-
    prolog_choice_attribute(Choice, type, Type), can_answer(Type), !,
    prolog_choice_attribute(Choice, frame, Of).
search_choice(Choice, Of) :- prolog_choice_attribute(Choice, parent, Parent), !, search_choice(Parent, Of).
search_choice(_, -1).
can_answer(clause).
can_answer(jump).
can_answer(foreign).

/*  The choice points that a cut removes: those newer than the frame that cuts, and its own. */
pruned(Choice, Frame, Pruned) :-
    prolog_choice_attribute(Choice, frame, Of), Of >= Frame, !,
    (   prolog_choice_attribute(Choice, type, clause), prolog_choice_attribute(Choice, clause, Ref)
    ->  clause_number(Ref, Number), Pruned = [[Of, Number]|More]
    ;   Pruned = More ),
    (   prolog_choice_attribute(Choice, parent, Parent) -> pruned(Parent, Frame, More) ; More = [] ).
pruned(_, _, []).

/*  A number for the states of the arguments: 1, then for each two bits, as port_events.py reads them. */
states(Plain, Ground, States) :-
    (   compound(Plain)
    ->  functor(Plain, _, Arity),
        (   ground(Plain), all_ground(Arity, States) -> Ground = true
        ;   Ground = false, argument_states(1, Arity, Plain, 1, States) )
    ;   Ground = false, States = 1 ).
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
