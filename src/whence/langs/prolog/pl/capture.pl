/*  The Prolog side of whence: runs a goal under the tracer and writes its events.

    It owns one pair of descriptors, which are neither the program's input nor its output. Requests
    are Prolog terms, one a line; replies and events are lines of fields between tabs (read by
    port_events.py). Terms stay here, under numbers, and are written on request.

    Invariant: the traced program gives the answers, output and errors of the plain one. So the
    hook is failure-driven, it binds nothing, and an exception inside it is reported, not raised.
*/
:- module(whence_capture, []).
:- set_prolog_flag(optimise, true).   % arithmetic, in this file only
:- use_module(library(lists)).
:- use_module(library(apply)).
:- use_module(library(occurs)).
:- use_module(library(terms)).
:- use_module(judging).
:- autoload(testing, [load_tests/2, send_tests/1, tested/5, set_up_test/5, clean_up_test/4]).
:- autoload(declaring, [declare/2, declare_types/2, declared/5]).
:- dynamic user:prolog_trace_interception/4.
:- multifile user:prolog_trace_interception/4.
:- dynamic known_predicate/5, known_goal/4, known_clause/2, user_clause/2, root/1, running/0.
:- dynamic chosen_root/1, was_unseen/1, loading/0, table_run/0.
:- dynamic most_events/1, deepest/1, skipped_from/1, to_open/1, reported/2.

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

request(load(File)) :- load_program(File).
request(load_again(File)) :- quietly(load_program(File)).
request(run(Text, Solutions, Limits)) :-
    setup_call_cleanup(watched(Limits, Watch), run(Text, Solutions, traced), unwatched(Watch)).
request(run_item(Module, Text, Solutions, Limits)) :-
    item_of(Text, c(Goal, Constraints)),
    setup_call_cleanup(watched(Limits, Watch),
                       run_item(Module:Goal, Constraints, Solutions), unwatched(Watch)).
request(run_table(Module, Text, Limits)) :-
    item_of(Text, c(Goal, Constraints)),
    setup_call_cleanup(watched(Limits, Watch), run_table(Module:Goal, Constraints), unwatched(Watch)).
request(number_from(N)) :-
    forall(member(F, [whence_terms, whence_predicates, whence_clauses]), flag(F, _, N)).
request(depends(Module, Text)) :-
    item_of(Text, c(Goal, _)), out(Out),
    ( impure(Module, Goal, Why) -> line(Out, [depends, text(Why)]) ; true ).
request(copy_output(File)) :- copy_output(File).
request(end_copy) :- end_copy.
request(plain(Text, Solutions)) :- run(Text, Solutions, plain).
request(terms(Numbers)) :- forall(member(N, Numbers), send_term(N)).
request(clause_lines(M, Name, Arity)) :-
    functor(Head, Name, Arity), out(Out),
    forall(( catch(nth_clause(M:Head, _, Ref), _, fail), clause_property(Ref, file(File)),
             clause_property(Ref, line_count(Line)) ),
           line(Out, [at, text(File), Line])).
request(error(Number)) :- send_error(Number).
request(digests(Numbers)) :- forall(member(N, Numbers), send_digest(N)).
request(values(Number, Which)) :- send_values(Number, Which).
request(slot(Number, Path)) :- send_slot(Number, Path).
request(places(Number)) :- send_places(Number).
request(items(Numbers)) :- forall(member(N, Numbers), send_item(N)).
request(instance(GoalText, Text)) :- instance_of(GoalText, Text).
request(judge(Port, Module, GoalText, Texts, Options0)) :-
    maplist(item_of, [GoalText|Texts], [Goal|Items]),
    maplist(option_of, Options0, Options),
    judge(Port, Module, Goal, Items, Options, verdict(Verdict, Why, Expected)),
    out(Out), line(Out, [verdict, Verdict, text(Why), text(Expected)]).

request(declare(Module, File, Modes)) :- declare(Module, Modes), declare_types(Module, File).
request(declared(Port, Module, Call, Item)) :-
    term_of(Call, Goal), ( Item >= 0 -> term_of(Item, Term) ; Term = none ), out(Out),
    (   declared(Port, Module, Goal, Term, verdict(Verdict, Why))
    ->  line(Out, [declared, Verdict, text(Why)]) ; true ).
request(note_goal(Text)) :- note_goal(Text).
request(load_tests(Program, Files)) :- load_tests(Program, Files).
request(load_tests_again(Program, Files)) :- quietly(load_tests(Program, Files)).
request(tests) :- out(Out), send_tests(Out).
request(tested(Port, Module, GoalText, Texts)) :-
    maplist(item_of, [GoalText|Texts], [Goal|Items]), out(Out),
    ( tested(Port, Module, Goal, Items, Who) -> line(Out, [tested, text(Who)]) ; true ).
request(set_up_test(Unit, Name, Line, Nth)) :-
    set_up_test(Unit, Name, Line, Nth, Fields), out(Out), line(Out, [goal|Fields]).
request(clean_up_test(Unit, Name, Line, Nth)) :- clean_up_test(Unit, Name, Line, Nth).

/*  Many scripts run and halt when they are loaded. This process has to answer requests after that,
    so a halt during loading is cancelled. */
load_program(File) :-
    setup_call_cleanup(assertz(loading), load_files(user:File, []), retractall(loading)).
:- at_halt(( whence_capture:loading -> cancel_halt('the program is being loaded') ; true )).

/*  Prints no warnings and errors of a file: they were printed when it was loaded first. */
quietly(Goal) :-
    setup_call_cleanup(
        asserta((user:message_hook(_, Kind, _) :- lists:memberchk(Kind, [warning, error])), Ref),
        Goal, erase(Ref)).

option_of(state(Before0, effects(Added0, Removed0, Set0, Printed0)),
          state(Before, effects(Added, Removed, Set, Printed))) :- !,
    maplist(earlier_change, Set0, Set),
    maplist(earlier_change, Before0, Before),
    maplist(clause_of_text, Added0, Added), maplist(clause_of_text, Removed0, Removed),
    atom_string(Printed0, Printed).
option_of(Option, Option).
earlier_change(=(Name, Text), =(Name, Value)) :- clause_of_text(Text, Value).
earlier_change(+(M, Text), +(M, Clause)) :- clause_of_text(Text, Clause).
earlier_change(-(M, Text), -(M, Clause)) :- clause_of_text(Text, Clause).
clause_of_text(Text, Clause) :- item_of(Text, c(Clause, _)).

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
    forget, abolish_all_tables,
    term_string(Goal0, Text, [variable_names(Bindings), module(user)]),
    strip_module(user:Goal0, Module, Plain),
    expand_goal(Module:Plain, Goal1),
    run_goal(Goal1, Bindings, Solutions, Mode).

/*  A call as it was recorded, with the constraints on its variables. The tables
    of predicates and clauses stay valid. */
run_item(Goal, Constraints, Solutions) :-
    forget_run, post(Constraints), run_goal(Goal, [], Solutions, traced).

/*  The clauses of a tabled call, once its table is complete: the tabled calls in their bodies take
    their answers from tables, so this ends. Output was printed when the table was filled. */
run_table(M:Goal, Constraints) :-
    forget_run, post(Constraints),
    '$wrapped_implementation'(M:Goal, table, Clauses),
    ( undefined_answer(M:Goal) -> unseen('answers that are neither true nor false') ; true ),
    setup_call_cleanup(
        ( assertz(table_run), current_output(Before), open_null_stream(Null), set_output(Null) ),
        run_root(M, Clauses, 1_000_000_000),
        ( set_output(Before), close(Null), retractall(table_run) )).

/*  Whether a table has an answer that is undefined in the well-founded semantics. */
undefined_answer(Goal) :- catch(call_delays(Goal, Delays), _, fail), Delays \== true, !.

run_root(M, Clauses, Solutions) :- run_traced(M, Clauses, Clauses, [], Solutions, traced).

run_goal(Goal1, Bindings, Solutions, Mode) :-
    strip_module(Goal1, M, Goal2),
    root_goal(M, Goal2, Goal),
    run_traced(M, Goal, Goal2, Bindings, Solutions, Mode).

run_traced(M, Goal, Goal2, Bindings, Solutions, Mode) :-
    new_state, count_clauses, keep_files,
    visible(+all), visible(+cut_call), visible(+exception), leash(-all),
    out(Out),
    send_names(Bindings, Goal2, Out),
    Ended = ended(exhausted),
    State = state(0),
    (   solve(M:Goal, Mode, Bindings, Solutions, State, Out, Ended), fail ; true ),
    arg(1, Ended, How),
    send_unseen(Out), send_unseen_changes(Out),
    line(Out, [end, How]).

/*  The goal as a request for one answer: an instance of the goal, or values of its variables. */
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

/*  The goal itself is the root if it is one call of a user's predicate. Any other goal becomes the
    body of a clause, whose head has the goal as its argument. */
root_goal(M, Goal, Goal) :-
    callable(Goal), \+ control(Goal),
    functor(Goal, Name, Arity), number_of(M:Name/Arity, _, Kind), Kind \== library, !.
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
    nb_getval(whence_state, State), keep(State, Error, Number, _),
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

/*  CHR's own tracer starts with Prolog's, and would ask the user. */
:- multifile user:message_hook/3.
:- dynamic user:message_hook/3.
user:message_hook(trace_mode(_), _, _) :- whence_capture:running, !.

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

/*  Each run writes its predicates and clauses again; terms of earlier runs stay available. */
forget :-
    forget_run,
    retractall(known_predicate(_, _, _, _, _)), retractall(known_goal(_, _, _, _)),
    retractall(known_clause(_, _)), retractall(user_clause(_, _)).
forget_run :-
    forall(retract(chosen_root(Ref)), erase(Ref)),
    retractall(root(_)), retractall(running), retractall(reported(_, _)),
    flag(whence_calls, _, 0).

% --- limits -------------------------------------------------------------------------------------

/*  limits(Events, Depth, Seconds, Skip, Opened): 0 is none. Calls that are Skip levels below the
    goal, or deeper, run untraced; but the calls with the numbers in Opened are traced. */
watched(limits(Events, Depth, Seconds, Skip, Opened), Watch) :-
    retractall(to_open(_)), forall(member(N, Opened), assertz(to_open(N))),
    maplist(limited, [most_events(Events), deepest(Depth), skipped_from(Skip)]),
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

/*  A stopped program waits where it is for ever, so that nothing in it can catch or undo that.
    From then on, another thread answers requests. */
stop_here(Why) :-
    (   retract(running)
    ->  out(Out),
        send_unseen(Out), send_unseen_changes(Out), line(Out, [stopped, Why]), line(Out, [ok]), flush_output(Out), flush_output,
        current_prolog_flag(whence_in, In),
        thread_create(answer_requests(In, Out), Server),
        thread_join(Server), halt
    ;   true ).

:- include(hook).

:- include(changes).

:- include(clauses).

% --- terms --------------------------------------------------------------------------------------

/*  A term is kept as a record, the constraints on its variables as goals beside it. */
keep(State, Term, Number, States) :-
    next_term(State, Number),
    states(Term, Ground, States),
    goal_of_root(Term, Plain),
    (   ( Ground == true -> true ; term_attvars(Plain, []) )
    ->  recordz(Number, Plain)
    ;   constrained(Plain, Kept), recordz(Number, Kept) ).

next_term(State, Number) :-
    state(next_term, State, Number0),
    (   state(block_end, State, End), Number0 < End
    ->  Number = Number0
    ;   flag(whence_terms, Number, Number + 1000), NewEnd is Number + 1000,
        set_state(block_end, State, NewEnd) ),
    Next is Number + 1, set_state(next_term, State, Next).

constrained(Plain, Term) :-
    acyclic_term(Plain),
    catch(copy_term(Plain, Copy, Constraints), _, fail), acyclic_term(Constraints), !,
    ( Constraints == [] -> Term = Copy ; Term = '$whence_constrained'(Copy, Constraints) ).
constrained(Plain, Term) :- copy_term_nat(Plain, Term).

goal_of_root('whence goal'(Goal), Goal) :- !.
goal_of_root(Goal, Goal).

/*  A cyclic term is represented by its text. */
term_of(Number, Term) :-
    recorded(Number, Kept), !,
    (   acyclic_term(Kept) -> Term = Kept
    ;   text_of(Kept, [], Text), Term = '$whence_text'(Text) ).

send_term(Number) :-
    term_of(Number, Term), names(Term, Names), text_of(Term, Names, Text),
    out(Out), line(Out, [term, Number, text(Text)]).

/*  An error without its context: the calls show where it was raised. */
send_error(Number) :-
    term_of(Number, Term0),
    (   nonvar(Term0), Term0 = error(Formal, Context), nonvar(Context), Context = context(_, Message),
        var(Message)
    ->  Term = error(Formal, Message) ; Term = Term0 ),
    term_variables(Term, Variables), once_each(Variables, Term, Names), text_of(Term, Names, Text),
    out(Out), line(Out, [term, Number, text(Text)]).
once_each([], _, []).
once_each([V|Vs], Term, [Name=V|Names]) :-
    ( occurrences_of_var(V, Term, 1) -> Name = '_' ; length(Vs, N), format(atom(Name), "_~d", [N]) ),
    once_each(Vs, Term, Names).

send_item(Number) :-
    term_of(Number, Term), item_text(Term, Text), out(Out), line(Out, [item, Number, text(Text)]).

send_digest(Number) :-
    term_of(Number, Term),
    variant_sha1(Term, Digest),
    (   \+ is_huge(Term), write_length(Term, Length, [quoted(true), max_length(10000)]) -> true
    ;   Length = 10000 ),   % more than anybody reads
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
text_of(Term, _, "a term with a number of a million digits or more") :- is_huge(Term), !.
text_of(Term, _, Text) :- cyclic_term(Term), !,
    term_factorized(Term, Skeleton, Substitutions),
    names(Skeleton-Substitutions, Names),
    text_of(@(Skeleton, Substitutions), Names, Text).
text_of(Term, Names, Text) :-
    ( parsed_codes(Term, Codes) -> More = [portray_goal(whence_capture:parsed_text(Codes))]
    ; More = [] ),
    format(string(Text), "~W",
           [Term, [quoted(true), spacing(next_argument), variable_names(Names), module(user)|More]]).

/*  The codes that a call of a nonterminal parses. They, and what was taken from them, are written
    as Prolog reads them back, between backquotes. */
parsed_codes(Term, Codes) :-
    compound(Term), functor(Term, Name, Arity), Arity >= 2, known_predicate(Name, Arity, M, _, _),
    functor(Head, Name, Arity), predicate_property(M:Head, non_terminal),
    Before is Arity - 1, arg(Before, Term, Codes), is_codes(Codes), !.
is_codes(Codes) :-
    is_list(Codes), Codes = [_|_], length(Codes, Length), Length =< 10_000,
    forall(member(C, Codes), ( integer(C), C > 0, C =< 0x10ffff, is_text_code(C) )).
is_text_code(C) :- ( code_type(C, print) ; memberchk(C, `\n\t\r`) ), !.
parsed_text(Parsed, Part, _) :-
    is_codes(Part), append(_, Rest, Parsed), append(Part, _, Rest), !,
    put_char('`'), forall(member(C, Part), parsed_code(C)), put_char('`').
parsed_code(C) :-
    (   nth0(N, `\`\\\n\t\r`, C) -> nth0(N, `\`\\ntr`, Escape), format("\\~c", [Escape])
    ;   put_char(C) ).

/*  Writes one line of fields. Texts are escaped, so that they hold no tab and no line break. */
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
