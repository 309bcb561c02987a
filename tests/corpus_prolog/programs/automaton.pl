:- style_check(-singleton), style_check(-discontiguous).
% goal: accepts([a,b,a,b])
% goal: accepts([a,b,b])
% goal: words(3, W)
start(q0).
final(q2).
delta(q0, a, q1). delta(q1, b, q2). delta(q2, a, q1). delta(q1, a, q1).
accepts(W) :- start(Q), run(Q, W).
run(Q, []) :- final(Q), !.
run(Q, [X|W]) :- delta(Q, X, R), run(R, W).
words(N, L) :- findall(W, ( word(N, W), accepts(W) ), L).
word(0, []) :- !.
word(N, [X|W]) :- letter(X), M is N - 1, word(M, W).
letter(a).
letter(b).
