/*  Judges an event of another program by a reference: the Prolog side of reference_program.py.

    The reference makes the call. The verdict is `unknown` if the call does not end within the
    limits, or if its answers depend on more than its arguments (on asserted clauses, input or
    random numbers).

    An item is c(Term, Constraints). A variable with constraints stands for the values that satisfy
    them; where these are finitely many integers they are tried one by one.
*/
:- module(whence_judging, [judge/6, item_text/2, post/1, impure/3, clauses_change/0, changeable/2,
                           note_goal/1, is_huge/1]).
:- use_module(library(lists)).
:- use_module(library(apply)).
:- use_module(library(solution_sequences)).
:- use_module(library(occurs)).
:- use_module(library(terms)).
:- dynamic found_answer/1, known_impure/2, first_answers/3, last_call/1, last_answers/2.
:- dynamic found_effects/4, noting_effects/0, watched_variable/1.
:- dynamic test_file/1.   % a file of tests, which may redefine predicates of the program

most_answers(2000).
most_instances(2000).

/*  judge(+Port, +Module, +Goal, +Items, +Options, -Verdict): Items are the answer of an exit, the
    answers before a fail, the first answers, the error of an exception. Options: inferences(N), and
    `fresh` if nothing has run since the program was loaded, so that it has not asserted clauses.
    Verdict is verdict(right/wrong/inadmissible/unknown, Why, Expected), or with `raises` or
    `endless`: the reference raised an error before it came to an answer, or did not end where this
    one raised. */
judge(Port, Module, Goal, Items, Options, Verdict) :-
    Goal = c(Term, _),
    (   home(Module, Term, M)
    ->  (   memberchk(state(Before, Effects), Options), has_effects(M, Term, Before, Effects)
        ->  (   reaches(besides_clauses, M, Term, Found)
            ->  depends_on(Found, Why), Verdict = verdict(unknown, Why, "")
            ;   judged_with_state(Port, Items, M, Goal, Before, Effects, Options, Verdict) )
        ;   \+ memberchk(fresh, Options), impure(M, Term, Why)
        ->  Verdict = verdict(unknown, Why, "")
        ;   remembered_answers(M, Goal, Options, Answers, How),
            judged(Port, Items, M, Answers, How, Options, Verdict)
        )
    ;   functor(Term, Name, Arity),
        format(string(Why), "the reference has no ~w/~w", [Name, Arity]),
        ( Port == exception, lacks(Items, Name/Arity) -> Is = inadmissible ; Is = unknown ),
        Verdict = verdict(Is, Why, "")
    ), !.

/*  The program has no such predicate either: so it should never have been called. */
lacks([c(error(existence_error(procedure, Missing), _), _)], Indicator) :-
    strip_module(Missing, _, Indicator).

home(_, Term, user) :- control(Term), !.
home(Module, Term, Module) :- predicate_property(Module:Term, defined), !.
home(_, Term, user) :- predicate_property(user:Term, defined).

control((_, _)).
control((_ ; _)).
control((_ -> _)).
control((_ *-> _)).
control(\+ _).

judged(exit, [Item], M, Answers, How, Options, Verdict) :- !,
    (   covered(Answers, Item, By)
    ->  (   By == one -> Verdict = verdict(right, "the reference has this answer", "")
        ;   By == many
        ->  Verdict = verdict(wrong, "the reference binds what this leaves open", "")
        ;   How == all
        ->  listed(Answers, Expected),
            Verdict = verdict(wrong, "the reference has no such answer", Expected)
        ;   How = raised(Error) -> raised_instead(Item, M, Options, Error, Verdict)
        ;   by_itself(Item, M, Options, Verdict) )
    ;   How == all, refuted(Answers, Item)
    ->  listed(Answers, Expected),
        Verdict = verdict(wrong, "the reference has no such answer", Expected)
    ;   not_finite(Verdict) ).
judged(fail, Items, _, Answers, How, _, Verdict) :- !,
    (   uncovered(Answers, Items, Missing)
    ->  (   Missing = missing(c(Term, _))
        ->  text(Term, Text),
            format(string(Why), "the reference has the answer ~w", [Text]),
            Verdict = verdict(wrong, Why, Text)
        ;   How == all -> Verdict = verdict(right, "the reference has no other answer", "")
        ;   How = raised(Error) -> raises(Error, Why), Verdict = verdict(wrong, Why, "")
        ;   too_long(Verdict) )
    ;   not_finite(Verdict) ).
judged(first, Items, _, Answers, How, _, Verdict) :- !,
    append(Earlier, [Kept], Items),
    (   before(Answers, Kept, Before), uncovered(Before, Earlier, Missing)
    ->  (   Missing = missing(c(Term, _))
        ->  text(Term, Text),
            format(string(Why), "in the reference ~w comes before it", [Text]),
            Verdict = verdict(wrong, Why, Text)
        ;   Verdict = verdict(right, "in the reference no other answer comes before it", "") )
    ;   How == all
    ->  Verdict = verdict(right, "the reference has no such answer, so none comes before it", "")
    ;   How = raised(Error) -> raises(Error, Why), Verdict = verdict(wrong, Why, "")
    ;   too_long(Verdict) ).
judged(exception, [c(Error, _)], _, _, How, _, Verdict) :- !,
    (   How = raised(Theirs)
    ->  (   same_error(Error, Theirs)
        ->  Verdict = verdict(right, "the reference raises that too", "")
        ;   raises(Theirs, Why), Verdict = verdict(wrong, Why, "") )
    ;   How == all -> Verdict = verdict(wrong, "the reference does not raise it", "")
    ;   too_long(verdict(_, Why, _)), Verdict = verdict(endless, Why, "") ).
judged(stopped, _, _, _, How, _, Verdict) :-
    (   ended(How) -> Verdict = verdict(wrong, "in the reference it ends", "")
    ;   Verdict = verdict(unknown, "in the reference it did not end by then either", "") ).

ended(all).
ended(raised(_)).

/*  The reference raised an error before it could give an answer. If the answer is false when it is
    called by itself, it is wrong. If not, only the missing error is wrong. */
raised_instead(Item, M, Options, Error, Verdict) :-
    (   Item = c(Term, []), answers(M, Item, Options, Answers, all),
        \+ ( member(Answer, Answers), covers(Answer, Term) )
    ->  Verdict = verdict(wrong, "it is not true in the reference", "")
    ;   raises(Error, Why), Verdict = verdict(raises, Why, "") ).

too_long(verdict(unknown, "in the reference it did not end within the limit", "")).
not_finite(verdict(unknown, "its constraints leave too much open to be compared", "")).

/*  The call has too many answers to compare, so the answer in question is called by itself. */
by_itself(c(Term, []), M, Options, Verdict) :- !,
    answers(M, c(Term, []), Options, Answers, How),
    (   member(Answer, Answers), covers(Answer, Term)
    ->  Verdict = verdict(right, "it is true in the reference", "")
    ;   How == all -> Verdict = verdict(wrong, "it is not true in the reference", "")
    ;   too_long(Verdict) ).
by_itself(_, _, _, Verdict) :- too_long(Verdict).

same_error(error(One, _), error(Other, _)) :- !, One =@= Other.
same_error(One, Other) :- One =@= Other.

raises(Error, Why) :- message(Error, Text), format(string(Why), "the reference raises ~w", [Text]).
message(Error, Text) :- ( Error = error(Formal, _) -> text(Formal, Text) ; text(Error, Text) ).
listed(Answers, Text) :-
    length(Answers, Count), Count >= 1, Count =< 3, !,
    findall(T, ( member(c(Term, _), Answers), text(Term, T) ), Texts),
    atomic_list_concat(Texts, '; ', Text).
listed([], "no answer") :- !.
listed(_, "").
text(Term, Text) :-
    \+ \+ ( numbervars(Term, 0, _, [singletons(true)]),
            format(string(T), "~W", [Term, [quoted(true), numbervars(true), max_depth(30),
                                            spacing(next_argument)]]),
            nb_setval(whence_text, T) ),
    nb_getval(whence_text, Text).

% --- running a call -----------------------------------------------------------------------------

/*  A call in the freshly loaded program runs only once. Of the other calls, the last one's answers
    are kept, because questions about one call come one after another. */
remembered_answers(_, Goal, Options, Answers, How) :-
    memberchk(fresh, Options), first_answers(Known, Answers, How), Known =@= Goal, !.
remembered_answers(M, Goal, Options, Answers, How) :-
    last_call(Known), Known =@= call(M, Goal, Options), !, last_answers(Answers, How).
remembered_answers(M, Goal, Options, Answers, How) :-
    answers(M, Goal, Options, Answers, How),
    (   memberchk(fresh, Options) -> assertz(first_answers(Goal, Answers, How))
    ;   retractall(last_call(_)), retractall(last_answers(_, _)),
        assertz(last_call(call(M, Goal, Options))), assertz(last_answers(Answers, How)) ).

/*  answers(+M, +Item, +Options, -Answers, -How): all, more, raised(Error) or limit. */
answers(M, c(Term, Constraints), Options, Answers, How) :-
    memberchk(inferences(Limit), Options),
    most_answers(Most),
    retractall(found_answer(_)),
    copy_term(Term-Constraints, Goal-Posted),
    statistics(inferences, Before),
    catch(call_with_inference_limit(gather(M, Goal, Posted, Most), Limit, _), Error, true),
    statistics(inferences, After),
    findall(Answer, retract(found_answer(Answer)), Answers),
    length(Answers, Count),
    (   After - Before >= Limit -> How = limit   % a catch in the program may have hidden it
    ;   nonvar(Error), Error = error(resource_error(_), _) -> How = limit
    ;   nonvar(Error) -> How = raised(Error)
    ;   Count >= Most -> How = more
    ;   How = all ).

gather(M, Goal, Constraints, Most) :-
    State = state(0),
    (   post(Constraints), call(M:Goal),
        copy_term(Goal, Answer, Residue),
        assertz(found_answer(c(Answer, Residue))), note_effects(Answer, Residue),
        arg(1, State, N0), N is N0 + 1, nb_setarg(1, State, N),
        N >= Most
    ->  true ; true ).

post(Constraints) :- forall(member(M:_, Constraints), library_of(M)), maplist(post_one, Constraints).
post_one(Constraint) :- strip_module(user:Constraint, M, Goal), call(M:Goal).
library_of(clpfd) :- !, use_module(user:library(clpfd)).
library_of(_).

% --- what a call changes ------------------------------------------------------------------------

/*  state(Before, effects(Added, Removed, Set, Printed)): the clauses that were added and removed
    before the call, as +(M, Clause) and -(M, Clause), the global variables that were set, as
    Name=Value; what it changed itself, and printed. */
has_effects(_, _, _, effects(Added, Removed, Set, Printed)) :-
    \+ ( Added == [], Removed == [], Set == [], Printed == "" ), !.
has_effects(M, Goal, _, _) :- reaches(clauses, M, Goal, _), !.
has_effects(M, Goal, _, _) :- reaches(output, M, Goal, _).

/*  The call is made with the same clauses added and removed as before it in the other program. */
judged_with_state(Port, Items, M, Goal, Before, Effects, Options, Verdict) :-
    catch(snapshot(( whence_judging:replayed(Before, Is),
                     whence_judging:with_effects(Is, Port, Items, M, Goal, Effects, Options, Found),
                     nb_setval(whence_verdict, Found) )), Error, true),
    (   nonvar(Error) -> message(Error, Text), Verdict = verdict(unknown, Text, "")
    ;   nb_getval(whence_verdict, Verdict) ).

replayed([], yes).
replayed([+(M, Clause)|More], Is) :- assertz(M:Clause), replayed(More, Is).
replayed([=(Name, Value)|More], Is) :- nb_setval(Name, Value), replayed(More, Is).
replayed([-(M, Clause)|More], Is) :- ( removed_variant(M, Clause) -> replayed(More, Is) ; Is = no ).

removed_variant(M, Clause) :-
    ( Clause = (Head :- Body) -> true ; Head = Clause, Body = true ),
    copy_term(Head-Body, Head1-Body1),
    catch(clause(M:Head1, Body1, Ref), _, fail), Head1-Body1 =@= Head-Body, !, erase(Ref).

with_effects(no, _, _, _, _, _, _, verdict(unknown, "a clause that was removed is not in the reference", "")).
with_effects(yes, Port, Items, M, Goal, Effects, Options, Verdict) :-
    abolish_all_tables, contents(Start), printed_so_far(At), nb_setval(whence_start, Start-At),
    retractall(found_effects(_, _, _, _)), assertz(noting_effects),
    Effects = effects(_, _, Set, _), retractall(watched_variable(_)),
    forall(member(Name=_, Set), assertz(watched_variable(Name))),
    answers(M, Goal, Options, Answers, How),
    retractall(noting_effects),
    judged(Port, Items, M, Answers, How, Options, First),
    (   First = verdict(right, _, _), \+ same_effects(Port, Items, Effects)
    ->  other_effects(Port, Items, Why), Verdict = verdict(wrong, Why, "")
    ;   Verdict = First ),
    retractall(found_effects(_, _, _, _)).

note_effects(Answer, Residue) :-
    (   noting_effects
    ->  changes_now(Added, Removed, Printed),
        findall(Name=Value, ( watched_variable(Name), nb_getval(Name, Value) ), Values),
        assertz(found_effects(c(Answer, Residue), Added, Removed, Values-Printed))
    ;   true ).

changes_now(Added, Removed, Printed) :-
    nb_getval(whence_start, Start-At), contents(Now), lost(Now, Start, Added), lost(Start, Now, Removed),
    printed_since(At, Printed).

/*  All clauses that may change, in the standard order; variants are equal. */
contents(Sorted) :-
    findall(Clause,
            ( changeable(M, Head), clause(M:Head, Body),
              ( Body == true -> Clause = Head ; Clause = (Head :- Body) ),
              numbervars(Clause, 0, _) ),
            Clauses),
    length(Clauses, Count),
    ( Count > 20_000 -> throw(too_many_clauses) ; true ),
    msort(Clauses, Sorted).
changeable(M, Head) :-
    current_module(M), \+ sub_atom(M, 0, _, _, whence), \+ module_property(M, class(system)),
    \+ module_property(M, class(library)),
    predicate_property(M:Head, dynamic), \+ predicate_property(M:Head, imported_from(_)),
    is_users(M, Head), \+ functor(Head, 'whence goal', _),
    \+ ( functor(Head, Name, _), sub_atom(Name, 0, _, _, $) ).

/*  What the first sorted list has more often than the second. */
lost([], _, []) :- !.
lost(List, [], List) :- !.
lost([A|As], [B|Bs], Lost) :-
    compare(Order, A, B),
    (   Order = (=) -> lost(As, Bs, Lost)
    ;   Order = (<) -> Lost = [A|More], lost(As, [B|Bs], More)
    ;   lost([A|As], Bs, Lost) ).

same_effects(exit, [Item|_], Effects) :- !,
    found_effects(Answer, Added, Removed, Values-Printed), covered([Answer], Item, one),
    equal_effects(Effects, Added, Removed, Values, Printed), !.
same_effects(first, _, _) :- !.
same_effects(stopped, _, _) :- !.
same_effects(_, _, Effects) :-
    changes_now(Added, Removed, Printed),
    findall(Name=Value, ( watched_variable(Name), nb_getval(Name, Value) ), Values),
    equal_effects(Effects, Added, Removed, Values, Printed).

equal_effects(effects(Added0, Removed0, Set, Printed0), Added, Removed, Values, Printed) :-
    msort(Set, Sorted), msort(Values, SortedValues), Sorted =@= SortedValues,
    numbered_sorted(Added0, Added), numbered_sorted(Removed0, Removed),
    without_names(Printed0, Text), without_names(Printed, Text).
numbered_sorted(Clauses, Sorted) :-
    findall(C, ( member(C, Clauses), numbervars(C, 0, _) ), Numbered), msort(Numbered, Sorted).

/*  The names of variables differ from run to run. */
without_names(Text, Codes) :- string_codes(Text, Codes0), phrase(unnamed(Codes), Codes0), !.
unnamed([0'_|Cs]) --> "_G", name_digit, !, name_digits, unnamed(Cs).
unnamed([0'_|Cs]) --> "_", name_digit, !, name_digits, unnamed(Cs).
unnamed([C|Cs]) --> [C], !, unnamed(Cs).
unnamed([]) --> [].
name_digit --> [C], { code_type(C, digit) }.
name_digits --> name_digit, !, name_digits.
name_digits --> [].

other_effects(exit, [Item|_], Why) :-
    found_effects(Answer, Added, Removed, _-Printed), covered([Answer], Item, one), !,
    effects_text(Added, Removed, Printed, Why).
other_effects(_, _, Why) :- changes_now(Added, Removed, Printed), effects_text(Added, Removed, Printed, Why).
effects_text(Added, Removed, Printed, Why) :-
    findall(P, effect_phrase(Added, Removed, Printed, P), Phrases),
    ( Phrases == [] -> Text = "changes and prints nothing" ; atomic_list_concat(Phrases, '; ', Text) ),
    format(string(Why), "the reference ~w", [Text]).
effect_phrase(_, Removed, _, P) :- Removed \== [], clause_texts(Removed, T), format(string(P), "removes ~w", [T]).
effect_phrase(Added, _, _, P) :- Added \== [], clause_texts(Added, T), format(string(P), "adds ~w", [T]).
effect_phrase(_, _, Printed, P) :- Printed \== "", format(string(P), "prints ~q", [Printed]).
clause_texts(Clauses, Text) :-
    findall(T, ( member(C, Clauses), text(C, T) ), Texts), atomic_list_concat(Texts, ', ', Text).

/*  The copy of the output that capture.pl makes. */
printed_so_far(At) :-
    (   whence_capture:copied_to(Copy, _) -> character_count(Copy, At) ; At = 0 ).
printed_since(At, Text) :-
    (   whence_capture:copied_to(Copy, File), character_count(Copy, Now), Now > At
    ->  flush_output(Copy),
        read_file_to_string(File, All, [encoding(utf8), newline(posix)]), Length is Now - At,
        sub_string(All, At, Length, _, Text)
    ;   Text = "" ).

% --- comparing answers --------------------------------------------------------------------------

/*  covered(+Answers, +Item, -By): by `one` answer, by `many` together, or by `none` of them; fails
    if that is unknown. One answer that leaves variables open is not the same as many that bind them:
    later goals may need them bound. */
covered(Answers, Item, one) :- member(Answer, Answers), Answer =@= Item, !.
covered(Answers, Item, By) :-
    instances(Item, Instances),
    (   member(Instance, Instances), \+ ( member(A, Answers), covers(A, Instance) )
    ->  excluded(Answers, Instance), By = none
    ;   member(A, Answers), forall(member(Instance, Instances), covers(A, Instance))
    ->  By = one
    ;   By = many ).

/*  The answers before the first that covers an item. */
before(Answers, Item, Before) :-
    append(Before, [Answer|_], Answers), covered([Answer], Item, one), !.

uncovered([], _, none).
uncovered([Answer|More], Items, Missing) :-
    covered(Items, Answer, By),
    (   By == none -> Missing = missing(Answer) ; uncovered(More, Items, Missing) ).

covers(Answer, Instance) :- coverage(Answer, Instance, yes).
excluded(Answers, Instance) :- forall(member(A, Answers), coverage(A, Instance, no)).

/*  coverage(+Answer, +Instance, -How): yes, no, or maybe. What an instance leaves open, the answer
    must leave open, too. */
coverage(c(Term, Residue), Instance, How) :-
    (   \+ subsumes_term(Term, Instance) -> How = no
    ;   findall(H, once(coverage_under(Term, Residue, Instance, H)), [How]) ).

coverage_under(Term, Residue, Instance, How) :-
    copy_term(Instance, Before), copy_term(Term-Residue, T-R),
    T = Instance, catch(( post(R) -> Posted = yes ; Posted = no ), error(_, _), Posted = maybe),
    (   Posted \== yes -> How = Posted
    ;   ( term_attvars(T, [_|_]) ; Instance \=@= Before ) -> How = no
    ;   settled(R, How) ).

/*  The remaining constrained variables must have a solution. */
settled(Residue, How) :-
    term_attvars(Residue, Others),
    (   Others == [] -> How = yes
    ;   forall(member(V, Others), is_fd(V)), finite(Others)
    ->  ( \+ clpfd:labeling([ff], Others) -> How = no ; How = yes )
    ;   How = maybe ).

/*  Whether some instance of an item is covered by no answer; not all instances are tried. */
refuted(Answers, c(Term, Constraints)) :-
    catch(call_with_inference_limit(
              ( some_instance(Term, Constraints), excluded(Answers, Term) ),
              5_000_000, How), _, fail),
    How \== inference_limit_exceeded, !.

some_instance(Term, Constraints) :-
    copy_term(Term-Constraints, Term-Posted),
    post(Posted),
    term_attvars(Posted, Variables),
    forall(member(V, Variables), is_fd(V)),
    maplist(narrow, Variables),
    term_attvars(Posted, Left),
    clpfd:label(Left).

narrow(V) :- integer(V), !.
narrow(V) :-
    clpfd:fd_inf(V, Inf), clpfd:fd_sup(V, Sup),
    (   integer(Inf) -> Low = Inf, High is Inf + 20
    ;   integer(Sup) -> High = Sup, Low is Sup - 20
    ;   Low = -10, High = 10 ),
    clpfd:in(V, '..'(Low, High)).

instances(c(Term, []), [Term]) :- !.
instances(c(Term, Constraints), Instances) :-
    most_instances(Most), Limit is Most + 1,
    catch(call_with_inference_limit(
              findall(Term, limit(Limit, instance(Term, Constraints)), Instances),
              20_000_000, How), _, fail),
    How \== inference_limit_exceeded,
    length(Instances, Count), Count =< Most.

/*  Throws if a variable has constraints of another library, or infinitely many values. */
instance(Term, Constraints) :-
    copy_term(Term-Constraints, Term-Posted),
    post(Posted),
    term_attvars(Term, Variables),
    ( Variables == [] -> true
    ; forall(member(V, Variables), is_fd(V)), finite(Variables) -> clpfd:label(Variables)
    ; throw(not_finite) ),
    settled(Posted, How),
    ( How == maybe -> throw(not_finite) ; How == yes ).

is_fd(V) :- attvar(V), get_attr(V, clpfd, _).
finite(Variables) :-
    forall(member(V, Variables),
           ( clpfd:fd_inf(V, Inf), integer(Inf), clpfd:fd_sup(V, Sup), integer(Sup) )).

% --- what depends on more than its arguments ----------------------------------------------------

impure(M, Goal, Why) :- reaches(state, M, Goal, Found), depends_on(Found, Why).
depends_on(Found, Why) :- format(string(Why), "its answers depend on ~w", [Found]).

/*  reaches(+What, +M, +Goal, -Found): a goal may call something that has to do with state (any that
    is not in its arguments), clauses (which change), besides_clauses (other state), output. */
reaches(What, M, Goal, Found) :- impurity([M:Goal], [], What, Found).

/*  Breadth first over all that a goal may call, or may be given to be called. */
impurity([M:Goal|Waiting], Seen, What, Found) :-
    (   body_goals(Goal, M, Goals)
    ->  append(Goals, Waiting, More), impurity(More, Seen, What, Found)
    ;   callable(Goal), functor(Goal, Name, Arity), \+ memberchk(M:Name/Arity, Seen)
    ->  (   found_here(What, M, Goal, Found0) -> Found = Found0
        ;   called_by(M, Goal, Goals),
            append(Waiting, Goals, More),
            impurity(More, [M:Name/Arity|Seen], What, Found) )
    ;   impurity(Waiting, Seen, What, Found) ).

found_here(state, M, Goal, Found) :-
    (   functor(Goal, Name, Arity), stateful(Name/Arity, Found) -> true
    ;   found_here(changing, M, Goal, Found) -> true
    ;   out_of_sight(M, Goal, Found) ).
found_here(changing, M, Goal, Found) :-
    changing(M, Goal), functor(Goal, Name, Arity),
    format(atom(Found), "~w/~w, which changes", [Name, Arity]).
found_here(clauses, M, Goal, Found) :-
    functor(Goal, Name, _),
    ( ( changes_some(Name) ; global(Name) ) -> Found = Name ; found_here(changing, M, Goal, Found) ).
found_here(besides_clauses, M, Goal, Found) :-
    functor(Goal, Name, Arity),
    (   \+ changes_some(Name), \+ global(Name), stateful(Name/Arity, Found) -> true
    ;   test_file(_), changing(M, Goal) -> Found = Name/Arity
    ;   out_of_sight(M, Goal, Found) ).
found_here(output, _, Goal, Name) :- functor(Goal, Name, _), prints(Name).

global(nb_setval). global(nb_getval). global(b_setval). global(b_getval).

prints(format). prints(write). prints(writeln). prints(print). prints(nl). prints(writeq).
prints(write_canonical). prints(write_term). prints(print_message). prints(print_message_lines).
prints(put_char). prints(tab). prints(portray_clause). prints(ansi_format). prints(listing).

/*  Code in C of the user, and the constraint store of CHR. */
out_of_sight(M, Goal, Found) :-
    functor(Goal, Name, Arity), functor(Head, Name, Arity),
    \+ predicate_property(M:Head, system),
    whence_capture:classify(M:Name/Arity, Kind),
    (   Kind == foreign -> format(atom(Found), "~w/~w, which is written in C", [Name, Arity])
    ;   Kind == chr -> format(atom(Found), "the constraint store (~w/~w)", [Name, Arity]) ).

body_goals(Goal, _, []) :- var(Goal), !.
body_goals(M:Goal, _, [M:Goal]) :- atom(M), !.
body_goals((A, B), M, [M:A, M:B]).
body_goals((A ; B), M, [M:A, M:B]).
body_goals((A -> B), M, [M:A, M:B]).
body_goals((A *-> B), M, [M:A, M:B]).
body_goals(\+ A, M, [M:A]).

/*  Of a predicate of the user: the goals of its clauses. Of all: what in its arguments may be a goal
    or a closure, which is whatever has the name of a predicate of the user. */
called_by(M, Goal, Goals) :-
    findall(M:G, ( sub_callable(Goal, Name), users(M, Name, G) ), InArguments),
    functor(Goal, Name, Arity), functor(Head, Name, Arity),
    (   predicate_property(M:Head, imported_from(Home)) -> true ; Home = M ),
    (   is_users(Home, Head)
    ->  findall(Home:Body, clause(Home:Head, Body), Bodies)
    ;   Goal =.. [_|Arguments],
        findall(M:A, ( member(A, Arguments), callable(A), A \= [_|_] ), Bodies) ),
    append(Bodies, InArguments, Goals).

sub_callable(Goal, Name) :-
    compound(Goal), arg(_, Goal, Argument), nonvar(Argument), in_data(Argument, Name).
in_data(Term, Name) :- callable(Term), functor(Term, Name, _), Name \== '[|]', Name \== [].
in_data(Term, Name) :- compound(Term), arg(_, Term, Argument), nonvar(Argument), in_data(Argument, Name).

users(M, Name, Head) :- current_predicate(M:Name/Arity), functor(Head, Name, Arity), is_users(M, Head).
is_users(M, Head) :-
    \+ predicate_property(M:Head, system),
    \+ predicate_property(M:Head, imported_from(_)),
    predicate_property(M:Head, number_of_clauses(_)),
    ( predicate_property(M:Head, file(File)) -> current_prolog_flag(home, Home), \+ sub_atom(File, 0, _, _, Home)
    ; true ).

changing(M, Goal) :-
    predicate_property(M:Goal, dynamic), \+ predicate_property(M:Goal, imported_from(_)), changes_clauses.
changing(M, Goal) :-
    test_file(File), \+ sub_atom(M, 0, _, _, plunit_), \+ predicate_property(M:Goal, system),
    functor(Goal, Name, Arity), functor(Head, Name, Arity),
    catch(nth_clause(M:Head, _, Ref), _, fail), clause_property(Ref, file(File)), !.

/*  Whether any clause of the program adds or removes clauses; looked for once. */
changes_clauses :- known_impure(clauses, Is), !, Is == true.
changes_clauses :-
    (   current_module(M), current_predicate(M:Name/Arity), functor(Head, Name, Arity),
        is_users(M, Head), \+ sub_atom(M, 0, _, _, whence),
        clause(M:Head, Body), in_data(Body, Called), changes_some(Called)
    ->  Is = true ; Is = false ),
    assertz(known_impure(clauses, Is)),
    Is == true.

changes_some(assert). changes_some(asserta). changes_some(assertz). changes_some(retract).
changes_some(retractall). changes_some(abolish).

/*  The goal that is debugged may change clauses, too. */
note_goal(Text) :-
    (   catch(term_string(Goal, Text), _, fail), in_data(Goal, Called), changes_some(Called)
    ->  clauses_change ; true ).

/*  Something besides the clauses of the program is known to change them. */
clauses_change :- retractall(known_impure(clauses, _)), assertz(known_impure(clauses, true)).

stateful(Name/Arity, Found) :- state(Name), format(atom(Found), "~w/~w", [Name, Arity]).
state(assert). state(asserta). state(assertz). state(retract). state(retractall). state(abolish).
state(recorda). state(recordz). state(recorded). state(erase). state(flag). state(gensym).
state(nb_setval). state(nb_getval). state(b_setval). state(b_getval). state(reset_gensym).
state(random). state(random_between). state(random_member). state(random_permutation).
state(random_select). state(set_random). state(get_time).
state(read). state(read_term). state(get_char). state(peek_char). state(get_code). state(peek_code).
state(get_byte). state(read_line_to_string). state(read_line_to_codes). state(open). state(see).
state(consult). state(load_files). state(shell). state(thread_create). state(message_queue_create).
state(tnot).

% --- items as texts -----------------------------------------------------------------------------

/*  A text that any process reads as the same term; `handle` for a term of this process only. */
item_text(Term, handle) :- nonvar(Term), Term = '$whence_text'(_), !.
item_text(Term, handle) :- has_handle(Term), !.
item_text(Term, handle) :- is_huge(Term), !.
item_text(Term, Text) :-
    (   nonvar(Term), Term = '$whence_constrained'(T, Constraints) -> Item = c(T, Constraints)
    ;   Item = c(Term, []) ),
    term_variables(Item, Variables), numbered(Variables, 0, Names),
    format(string(Text), "~W", [Item, [quoted(true), ignore_ops(true), variable_names(Names)]]).

/*  Whether a term holds a number of a million digits or more, which takes too long to write. */
is_huge(Term) :-
    term_size(Term, Cells), Cells > 50_000,
    sub_term(Number, Term), integer(Number), Number =\= 0, msb(abs(Number)) > 3_300_000, !.
numbered([], _, []).
numbered([V|Vs], N, [Name=V|Names]) :- atom_concat('_V', N, Name), M is N + 1, numbered(Vs, M, Names).
has_handle(Term) :- blob(Term, Type), !, Type \== text, Type \== reserved_symbol.
has_handle(Term) :- compound(Term), arg(_, Term, Argument), has_handle(Argument).
