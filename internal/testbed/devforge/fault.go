package devforge

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"regexp"
	"strconv"
	"sync"
	"time"
)

// FaultKind is a way in which an answer goes wrong.
type FaultKind int

// Kinds of fault.
const (
	// FaultStatus answers Fault.Status (502 if none is given) with an HTML page, as a proxy does.
	// The request is not carried out.
	FaultStatus FaultKind = iota
	// FaultHang never answers: the client has to give up. The request is not carried out.
	FaultHang
	// FaultStall carries the request out, sends half of the answer and then nothing more: the
	// client has to give up.
	FaultStall
	// FaultMalformed carries the request out and cuts the answer in the middle: JSON that is none,
	// or a pack that ends too early.
	FaultMalformed
	// FaultPartialPage carries the request out and leaves out the second half of a list.
	FaultPartialPage
	// FaultLostAnswer carries the request out and drops the connection.
	FaultLostAnswer
	// FaultRepeat gives the answer that the same request had the time before, and does not carry it
	// out. The first time it is carried out.
	FaultRepeat
	// FaultRedirect sends the client to Fault.Location.
	FaultRedirect
	// FaultPrimaryLimit answers that the hour's requests are used up: 403 with nothing remaining,
	// or Fault.Status, until Fault.Wait (an hour if none is given) has passed.
	FaultPrimaryLimit
	// FaultSecondaryLimit answers that requests come too fast: 403, or Fault.Status, with
	// Retry-After if Fault.Wait is given, while requests remain.
	FaultSecondaryLimit
)

// Fault says which requests go wrong, and how.
type Fault struct {
	Kind FaultKind
	// Method is that of the requests; empty for all.
	Method string
	// Path matches the path of the requests, such as "/api/v3/repos/shop/web/pulls"; nil for all.
	Path *regexp.Regexp
	// User is the login of who sends the requests; empty for all.
	User string
	// After is how many of these requests go well before the first goes wrong.
	After int
	// Times is how many requests go wrong; 0 for all until the fault is switched off.
	Times int
	// Hanging, if it is given, is called when a client begins to wait for what will not come.
	Hanging func()
	// Status, Wait and Location are for those faults that name them.
	Status   int
	Wait     time.Duration
	Location string
}

// faultSet holds the faults that are switched on.
type faultSet struct {
	mu      sync.Mutex
	active  []*activeFault
	answers map[string]*heldAnswer
	// ended is closed by end, for requests that hang.
	ended chan struct{}
	end   func()
}

type activeFault struct {
	Fault

	seen, hits int
}

func newFaultSet() *faultSet {
	ended := make(chan struct{})
	return &faultSet{
		answers: map[string]*heldAnswer{}, ended: ended, end: sync.OnceFunc(func() { close(ended) }),
	}
}

// Inject switches a fault on. Of several that match a request the first one switched on counts.
// The function switches it off again, and tells how many requests went wrong by it.
func (f *Forge) Inject(fault Fault) (off func() (hits int)) {
	added := &activeFault{Fault: fault}
	f.faults.mu.Lock()
	defer f.faults.mu.Unlock()
	f.faults.active = append(f.faults.active, added)
	return func() int {
		f.faults.mu.Lock()
		defer f.faults.mu.Unlock()
		added.Times = -1
		return added.hits
	}
}

// meets reports whether a fault is for the requests of a user that are like r.
func (a *activeFault) meets(r *http.Request, user string) bool {
	return (a.Method == "" || a.Method == r.Method) && (a.Path == nil || a.Path.MatchString(r.URL.Path)) &&
		(a.User == "" || a.User == user)
}

// next returns the fault that a request meets, and whether there is one.
func (s *faultSet) next(r *http.Request, user string) (Fault, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.active {
		left := a.Times == 0 || a.hits < a.Times
		if !left || !a.meets(r, user) {
			continue
		}
		if a.seen++; a.seen > a.After {
			a.hits++
			return a.Fault, true
		}
	}
	return Fault{}, false
}

// faulty has the faults that are switched on happen to what next answers.
func (f *Forge) faulty(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fault, found := f.faults.next(r, f.senderOf(r))
		if !found {
			next.ServeHTTP(w, r)
			return
		}
		if !f.instead(fault, w, r) {
			f.spoil(fault, w, r, next)
		}
	})
}

// instead answers for those faults that do not carry the request out.
func (f *Forge) instead(fault Fault, w http.ResponseWriter, r *http.Request) bool {
	switch fault.Kind {
	case FaultStatus:
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(orStatus(fault.Status, http.StatusBadGateway))
		io.WriteString(w, "<html><body><h1>Unicorn!</h1></body></html>")
	case FaultHang:
		f.faults.hang(r, fault.Hanging)
	case FaultRedirect:
		http.Redirect(w, r, fault.Location, orStatus(fault.Status, http.StatusTemporaryRedirect))
	case FaultPrimaryLimit:
		f.answerPrimaryLimit(fault, w)
	case FaultSecondaryLimit:
		f.answerSecondaryLimit(fault, w)
	default:
		return false
	}
	return true
}

// hang ends with the client or the forge. Only once the body is read does the server see a client
// go.
func (s *faultSet) hang(r *http.Request, tell func()) {
	if _, err := io.Copy(io.Discard, r.Body); err == nil {
		if tell != nil {
			tell()
		}
		select {
		case <-r.Context().Done():
		case <-s.ended:
		}
	}
	panic(http.ErrAbortHandler)
}

func orStatus(status, otherwise int) int {
	if status == 0 {
		return otherwise
	}
	return status
}

func (f *Forge) answerPrimaryLimit(fault Fault, w http.ResponseWriter) {
	wait := fault.Wait
	if wait == 0 {
		wait = time.Hour
	}
	allowance{limit: defaultBudget, used: defaultBudget, reset: f.now().Add(wait)}.writeTo(w.Header())
	writeJSON(w, orStatus(fault.Status, http.StatusForbidden), object{
		"message":           "API rate limit exceeded for user ID 1.",
		"documentation_url": docsURL + "/using-the-rest-api/rate-limits-for-the-rest-api",
	})
}

func (f *Forge) answerSecondaryLimit(fault Fault, w http.ResponseWriter) {
	if fault.Wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(fault.Wait.Seconds())))
	}
	allowance{limit: defaultBudget, used: 1, reset: f.now().Add(time.Hour)}.writeTo(w.Header())
	writeJSON(w, orStatus(fault.Status, http.StatusForbidden), object{
		"message": "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.",
		"documentation_url": docsURL +
			"/using-the-rest-api/rate-limits-for-the-rest-api#about-secondary-rate-limits",
	})
}

// spoil carries the request out and sends something else than its answer.
func (f *Forge) spoil(fault Fault, w http.ResponseWriter, r *http.Request, next http.Handler) {
	if fault.Kind == FaultRepeat {
		f.faults.repeat(w, r, next)
		return
	}
	answer := &heldAnswer{header: http.Header{}}
	next.ServeHTTP(answer, r)
	switch fault.Kind {
	case FaultLostAnswer:
		panic(http.ErrAbortHandler)
	case FaultStall:
		answer.body.Truncate(answer.body.Len() / 2)
		answer.send(w)
		if http.NewResponseController(w).Flush() == nil {
			f.faults.hang(r, fault.Hanging)
		}
		panic(http.ErrAbortHandler)
	case FaultMalformed:
		answer.body.Truncate(answer.body.Len() / 2)
	case FaultPartialPage:
		halveLists(&answer.body)
	}
	answer.send(w)
}

func (s *faultSet) repeat(w http.ResponseWriter, r *http.Request, next http.Handler) {
	key := r.Method + " " + r.URL.String()
	s.mu.Lock()
	answer := s.answers[key]
	s.mu.Unlock()
	if answer == nil {
		answer = &heldAnswer{header: http.Header{}}
		next.ServeHTTP(answer, r)
		s.mu.Lock()
		s.answers[key] = answer
		s.mu.Unlock()
	}
	answer.send(w)
}

// heldAnswer is an answer that has not been sent.
type heldAnswer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header returns the answer's own.
func (h *heldAnswer) Header() http.Header { return h.header }

// WriteHeader takes the first status.
func (h *heldAnswer) WriteHeader(status int) { h.status = orStatus(h.status, status) }

// Write takes a part of the body.
func (h *heldAnswer) Write(p []byte) (int, error) {
	h.WriteHeader(http.StatusOK)
	return h.body.Write(p)
}

// Flush keeps what it holds.
func (h *heldAnswer) Flush() {}

// EnableFullDuplex allows an answer to begin before the request ends.
func (h *heldAnswer) EnableFullDuplex() error { return nil }

// send omits Content-Length, because the body may have another length by now.
func (h *heldAnswer) send(w http.ResponseWriter) {
	maps.Copy(w.Header(), h.header)
	w.Header().Del("Content-Length")
	w.WriteHeader(h.status)
	io.WriteString(w, h.body.String())
}

// halveLists cuts a list, or the lists that are members of an object, and leaves other bodies
// alone.
func halveLists(body *bytes.Buffer) {
	var content any
	if json.Unmarshal(body.Bytes(), &content) != nil {
		return
	}
	switch whole := content.(type) {
	case []any:
		content = whole[:len(whole)/2]
	case object:
		for name, member := range whole {
			if list, ok := member.([]any); ok {
				whole[name] = list[:len(list)/2]
			}
		}
	}
	body.Reset()
	if err := json.NewEncoder(body).Encode(content); err != nil {
		panic(err) // it has just been decoded
	}
}
