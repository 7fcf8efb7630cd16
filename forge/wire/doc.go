// Package wire is the HTTP below the client of each forge.
//
//	client ─► deadline ─► conditional ─► limiter ─► authorised ─► bodies ─► network
//	                      ETags, 304     waits for   token or     whole,
//	                      cost nothing   nobody      App          capped, JSON
//
// What must hold:
//
//   - an answer that is cut, too large or no JSON is an error, so that nothing that speaks against
//     an approval is overlooked;
//   - while a forge limits us no request is sent and nothing sleeps: a *forge.LimitedError comes
//     back at once;
//   - credentials go to no other host, and appear in no error.
package wire
