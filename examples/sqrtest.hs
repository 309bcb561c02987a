main = sqrtest [1,2]
sqrtest x = test (computs (listsum x))
test (x,y,z) = (x==y) && (y==z)
listsum [] = 0
listsum (x:xs) = x + (listsum xs)
computs x = ((comput1 x),(comput2 x),(comput3 x))
comput1 x = square x
square x = x*x
comput2 x = listsum (list x x)
list x y | y==0 = []
         | otherwise = x:list x (y-1)
comput3 x = listsum (partialsums x)
partialsums x = [(sum1 x),(sum2 x)]
sum1 x = div (x * (incr x)) 2
sum2 x = div (x + (decr x)) 2
incr x = x + 1
decr x = x - 1
