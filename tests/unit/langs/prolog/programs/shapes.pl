:- module(shapes, [area/2]).

area(Shape, Area) :- sides(Shape, A, B), Area is A * B.
area(circle(R), Area) :- Area is 3 * R * R.

sides(square(A), A, A).
sides(oblong(A, B), A, B).
