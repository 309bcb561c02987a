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

/*  Untraced code; it is written when the run has ended. */
unseen(What) :- ( was_unseen(What) -> true ; assertz(was_unseen(What)) ).
tell_unseen(Out) :- forall(retract(was_unseen(What)), line(Out, [unseen, text(What)])).

hook_failed(Problem, continue) :-
    out(Out), message_text(Problem, Text), line(Out, [hook, text(Text)]).

/*  What the hook keeps from one port to the next, changed in place: a flag would take ten times as
    long, and this runs for every port of the program. */
place(told_events, 1).
place(next_term, 2).
place(block_end, 3).     % numbers of terms are taken in blocks, as other threads run goals too
place(last_called, 4).   % the frame of the call that was told last, 0 once one was left
place(walk_from, 5).     % the choice point at which the last walk began, -1: it holds no more
place(walk_to, 6).       % and the frame that it came to
place(most_events, 7).
place(deepest, 8).
place(skip, 9).          % so deep below the goal nothing is told any more; 0: all is

goal_expansion(state(Name, State, Value), arg(At, State, Value)) :- place(Name, At).
goal_expansion(set_state(Name, State, Value), nb_setarg(At, State, Value)) :- place(Name, At).

new_state :-
    None = 0xffffffffffff,
    ( most_events(Most) -> true ; Most = None ),
    ( deepest(Deepest) -> true ; Deepest = None ),
    ( skipped_from(Skip) -> true ; Skip = 0 ),
    nb_setval(whence_state, state(0, 0, 0, 0, -1, -1, Most, Deepest, Skip)).

/*  Events are written for calls of the user's predicates and for the calls that these make. A
    call's caller is the nearest such call, so a goal that a library calls is below the library.

    What an event does not need is not looked up. event/4 fails if there is nothing to write. */
event(call, Frame, _, Action) :- !,
    nb_getval(whence_state, State), set_state(walk_from, State, -1),
    goal_of(Frame, Goal, Number, Is),
    (   Is == library, counts_inferences(Goal)
    ->  Action = skip, functor(Goal, Name, Arity), unseen(Name/Arity),
        ignore(called(State, Frame, Goal, Number, Is, _))
    ;   called(State, Frame, Goal, Number, Is, Action) ).
event(unify, Frame, _, Action) :- !,
    prolog_frame_attribute(Frame, clause, Ref),
    (   user_clause(Ref, Number) -> true
    ;   predicate_of(Frame, PI), number_of(PI, _, Is), Is \== library,
        clause_number(Ref, Number), assertz(user_clause(Ref, Number)) ),
    nb_getval(whence_state, State), one_more_event(State, _),
    (   is_told(State, Frame)
    ->  Action = continue, out(Out), format(Out, 'u\t~d\t~d\n', [Frame, Number])
    ;   Action = skip ).
event(exit, Frame, Choice, Action) :- !,
    goal_of(Frame, Goal, _, Is),
    (   Is == library -> called_by_user(Frame) ; true ),
    nb_getval(whence_state, State), one_more_event(State, _),
    (   is_told(State, Frame)
    ->  Action = continue,
        set_state(last_called, State, 0),
        (   real_choice(State, Choice, Of), Of >= Frame -> More = 1 ; More = 0 ),
        keep(State, Goal, Term, States),
        out(Out),
        skipped_inferences(State, Is, Frame),
        format(Out, 'x\t~d\t~d\t~d\t~d\n', [Frame, More, Term, States])
    ;   Action = skip ).
event(Port, Frame, Choice, Action) :-
    nb_getval(whence_state, State), set_state(walk_from, State, -1),
    predicate_of(Frame, PI),
    number_of(PI, Number, Is),
    (   Is == library -> called_by_user(Frame) ; true ),
    one_more_event(State, _),
    (   ( is_told(State, Frame) ; is_unknown_call(Port, Frame, State) )
    ->  tell(Port, Frame, Number, Is, Choice, State, Action)
    ;   Action = skip ).

/*  What the hook does would count as well. */
counts_inferences(call_with_inference_limit(_, _, _)).

called(State, Frame, Goal, Number, Is, Action) :-
    visible_parent(Frame, -1, Parent, PC0),
    (   Is \== library
    ->  (   root(_) -> nearest(Parent, PC0, Caller, PC)
        ;   assertz(root(Frame)), Caller = 0, PC = -1 )
    ;   root(_), is_user_frame(Parent), Caller = Parent, PC = PC0 ),
    one_more_event(State, Events),
    state(skip, State, Skip),
    (   Skip =:= 0
    ->  tell_call(State, Frame, Goal, Number, Caller, PC),
        (   Is == tabled -> Action = skip ; Action = continue )
    ;   told_depth(Caller, Skip, Depth)
    ->  tell_call(State, Frame, Goal, Number, Caller, PC),
        skipping(Frame, Is, Depth, Skip, Action)
    ;   Action = skip ),
    limits(State, Events, Frame).

one_more_event(State, Events) :-
    state(told_events, State, Events), More is Events + 1, set_state(told_events, State, More).

is_told(State, Frame) :-
    state(skip, State, Skip),
    (   Skip =:= 0 -> true ; told(Frame, _) -> true ).

called_by_user(Frame) :- root(_), visible_parent(Frame, -1, Parent, _), is_user_frame(Parent).

is_user_frame(Frame) :- Frame \== 0, predicate_of(Frame, PI), number_of(PI, _, Is), Is \== library.

limits(State, Events, Frame) :-
    ( state(most_events, State, Most), Events >= Most -> stop_here(events) ; true ),
    ( state(deepest, State, Deepest), prolog_frame_attribute(Frame, level, Level), Level > Deepest
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

/*  The goal of a frame, without its module, and its predicate. */
goal_of(Frame, Goal, Number, Is) :-
    prolog_frame_attribute(Frame, goal, Told),
    (   Told = _:_
    ->  strip_module(Told, _, Goal), predicate_of(Frame, PI), number_of(PI, Number, Is)
    ;   Goal = Told, prolog_frame_attribute(Frame, context_module, M),
        (   known_goal(Goal, M, Known, IsKnown) -> Number = Known, Is = IsKnown
        ;   functor(Goal, Name, Arity), number_of(M:Name/Arity, Number, Is) ) ).

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
is_emitted(Frame) :- is_user_frame(Frame), !.
is_emitted(Frame) :- called_by_user(Frame).

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
    functor(Head, Name, Arity),
    assertz(known_predicate(Name, Arity, M, Number, Is)), assertz(known_goal(Head, M, Number, Is)),
    (   predicate_property(M:Head, file(File)), predicate_property(M:Head, line_count(Line))
    ->  true ; File = '', Line = 0 ),
    (   predicate_property(M:Head, imported_from(Home)) -> true ; Home = M ),
    out(Out),
    line(Out, [predicate, Number, Is, Arity, Line, text(Home), text(Name), text(File)]).

tell(fail, Frame, _, Is, _, State, continue) :- !,
    set_state(last_called, State, 0),
    out(Out), skipped_inferences(State, Is, Frame), format(Out, 'f\t~d\n', [Frame]).
tell(redo(PC), Frame, _, _, _, State, Action) :- !,
    out(Out), format(Out, 'r\t~d\t~d\n', [Frame, PC]),
    (   state(skip, State, Skip), Skip > 0, told(Frame, Skip) -> Action = skip ; Action = continue ).
tell(exception(Error), Frame, Number, Is, _, State, continue) :- !,
    (   Error = error(existence_error(procedure, _), _), is_undefined(Frame),
        \+ state(last_called, State, Frame)
    ->  visible_parent(Frame, -1, Parent, PC0),   % where it is not known yet, it has no call port
        nearest(Parent, PC0, Caller, PC),
        goal_of(Frame, Goal, _, _),
        tell_call(State, Frame, Goal, Number, Caller, PC),
        flag(whence_calls, Calls, Calls + 1)
    ;   true ),
    keep(State, Error, Term, _), out(Out), skipped_inferences(State, Is, Frame),
    (   Error = error(determinism_error(_, det, nondet, _), _) -> Refused = 1 ; Refused = 0 ),
    line(Out, [e, Frame, Term, Refused]).
tell(cut_call(PC), Frame, _, _, Choice, _, continue) :- !,
    pruned(Choice, Frame, Pruned), out(Out), line(Out, [t, Frame, PC, Pruned]).
tell(_, _, _, _, _, _, continue).

tell_call(State, Frame, Goal, Number, Caller, PC) :-
    set_state(last_called, State, Frame),
    keep(State, Goal, Term, States),
    out(Out),
    format(Out, 'c\t~d\t~d\t~d\t~d\t~d\t~d\n', [Frame, Caller, PC, Number, Term, States]).

skipping(Frame, Is, Depth0, Skip, Action) :-
    flag(whence_calls, Before, Before + 1), Nth is Before + 1,
    (   to_open(Nth) -> Depth = 0 ; Depth = Depth0 ),
    now_told(Frame, Depth),
    (   Is == tabled -> Action = skip
    ;   Depth =:= Skip, can_hide(Is, Frame) -> Action = skip, tell_inferences(Frame)
    ;   Action = continue ).

is_unknown_call(exception(error(existence_error(procedure, _), _)), Frame, State) :-
    is_undefined(Frame), state(skip, State, Skip),
    visible_parent(Frame, -1, Parent, PC), nearest(Parent, PC, Caller, _),
    told_depth(Caller, Skip, _).

is_undefined(Frame) :-
    predicate_of(Frame, M:Name/Arity), functor(Head, Name, Arity),
    \+ predicate_property(M:Head, defined).

/*  The number of inferences in a skipped call. */
skipped_inferences(State, Is, Frame) :-
    (   state(skip, State, Skip), Skip > 0, told(Frame, Skip), can_hide(Is, Frame)
    ->  tell_inferences(Frame) ; true ).

/*  Whether something of the user may happen in a call: always, but in what only computes. */
can_hide(user, _).
can_hide(library, Frame) :-
    predicate_of(Frame, M:Name/Arity), functor(Head, Name, Arity),
    predicate_property(M:Head, meta_predicate(Modes)), arg(_, Modes, Mode),
    ( integer(Mode) ; Mode == (^) ; Mode == (//) ), !.

tell_inferences(Frame) :-
    statistics(inferences, Inferences), out(Out), format(Out, "i\t~d\t~d\n", [Frame, Inferences]).

/*  The frame of the newest choice point that can give an answer, or -1. The debugger's own choice
    points stay behind when frames are left one after the other, so what was found at one exit is
    remembered until something else happens, or this walk would be made from each of them. */
real_choice(State, Choice, Of) :- state(walk_from, State, Choice), !, state(walk_to, State, Of).
real_choice(State, Choice, Of) :-
    walk(Choice, Of), set_state(walk_from, State, Choice), set_state(walk_to, State, Of).

walk(Choice, Of) :-
    prolog_choice_attribute(Choice, type, Type), can_answer(Type), !,
    prolog_choice_attribute(Choice, frame, Of).
walk(Choice, Of) :- prolog_choice_attribute(Choice, parent, Parent), !, walk(Parent, Of).
walk(_, -1).
can_answer(clause).
can_answer(jump).
can_answer(foreign).

/*  What a cut throws away: choice points newer than the frame that cuts, or its own. */
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
