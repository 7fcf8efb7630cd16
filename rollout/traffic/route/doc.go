// Package route reads and writes routes: whom they send requests to, and how they change while a
// release shares requests. It is pure: an object as it is in the API goes in, and another comes
// out. What it does not know in an object stays as it is.
//
//	what the user wrote           shared, 10% to the canary side
//	- service web, weight 3  -->  - web-stable, weight 270
//	- service api, weight 1       - web-canary, weight 30
//	                              - api, weight 100
//
// No original is stored. What a user changes in a shared route is kept when it is restored, because
// sharing has an inverse: a rule that refers to a side has weights of a hundred times what they
// were. So these laws hold for every route that the API server returns, for all shares:
//
//	Restore(Share(x, a)) = x
//	Share(Share(x, a), b) = Share(x, b)
//
// and those of two releases that share requests for two Services in one route don't depend on who
// came first.
//
// Rules for the matches of a step are inserted before the rules whose requests they take. They are
// known by what they are: all their backends are the canary Service with weight 1, and each of
// their matches implies one of the step's, which the annotation of the route keeps.
package route
