package view

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// PageSize is how many releases are on one page of the list.
const PageSize = 50

// mostPages bounds page numbers; nobody has as many pages.
const mostPages = 1_000_000

// Query says which releases somebody wants to see. The zero value means all.
type Query struct {
	// Namespace and Standing select releases; empty means any.
	Namespace, Standing string
	// Search has the words that must all be found.
	Search string
	// Mine selects only releases that wait for the viewer.
	Mine bool
	// Page counts from 1.
	Page int
}

// QueryOf reads a query from the parameters of an address.
func QueryOf(values url.Values) Query {
	page, err := strconv.Atoi(values.Get("page"))
	if err != nil || page < 1 || page > mostPages {
		page = 1
	}
	return Query{
		Namespace: cell(values.Get("namespace")), Standing: cell(values.Get("phase")), Search: cell(values.Get("search")),
		Mine: values.Get("mine") != "", Page: page,
	}
}

// Address returns the address of the list for a query.
func (q Query) Address() string {
	values := url.Values{}
	for key, value := range map[string]string{"namespace": q.Namespace, "phase": q.Standing, "search": q.Search} {
		if value != "" {
			values.Set(key, value)
		}
	}
	if q.Mine {
		values.Set("mine", "1")
	}
	if q.Page > 1 {
		values.Set("page", strconv.Itoa(q.Page))
	}
	if len(values) == 0 {
		return "/"
	}
	return "/?" + values.Encode()
}

// Releases is a page of the list of releases.
type Releases struct {
	Query Query
	Rows  []Row
	// Total is the number of releases that the query finds, among All that the viewer may see.
	Total, All int
	// Counts are the numbers of releases by mark, among all that the viewer may see.
	Counts map[string]int
	// Namespaces and Standings are the choices of the filters.
	Namespaces, Standings []string
	// Before and Next are the addresses of the previous and next pages; empty if there is none.
	Before, Next string
	Pages        int
	Now          time.Time
}

// Select finds the releases of a query among the rows that a viewer may see, which are in the order
// of the list.
func Select(rows []*Row, query Query, viewer Viewer, now time.Time) Releases {
	list := Releases{Query: query, All: len(rows), Counts: map[string]int{}, Now: now}
	namespaces, standings := map[string]bool{}, map[string]bool{}
	words := strings.Fields(strings.ToLower(query.Search))
	from := (query.Page - 1) * PageSize
	for _, row := range rows {
		list.Counts[string(row.Mark)]++
		namespaces[row.Namespace], standings[row.Standing] = true, true
		if !query.holds(row, words, viewer) {
			continue
		}
		if list.Total >= from && len(list.Rows) < PageSize {
			list.Rows = append(list.Rows, *row)
		}
		list.Total++
	}
	list.Namespaces, list.Standings = sortedKeys(namespaces), sortedKeys(standings)
	list.Pages = max(1, (list.Total+PageSize-1)/PageSize)
	if query.Page > 1 {
		before := query
		before.Page = min(query.Page-1, list.Pages)
		list.Before = before.Address()
	}
	if query.Page < list.Pages {
		next := query
		next.Page++
		list.Next = next.Address()
	}
	return list
}

func (q Query) holds(row *Row, words []string, viewer Viewer) bool {
	if q.Namespace != "" && row.Namespace != q.Namespace || q.Standing != "" && row.Standing != q.Standing {
		return false
	}
	for _, word := range words {
		if !strings.Contains(row.found, word) {
			return false
		}
	}
	return !q.Mine || row.AsksFor(viewer)
}

// Order sorts rows for the list: first releases with problems, then those that wait, those in
// progress, and the rest; each group by name. The members of a train follow it, and the train has
// the place of the one that comes first.
func Order(rows []*Row) {
	rank := map[Mark]int{Bad: 0, Waiting: 1, Moving: 2, Plain: 3, Good: 4}
	type group struct{ namespace, name string }
	of := func(row *Row) group { return group{row.Namespace, cmp.Or(row.Train, row.Name)} }
	first := make(map[group]int, len(rows))
	for _, row := range rows {
		if least, is := first[of(row)]; !is || rank[row.Mark] < least {
			first[of(row)] = rank[row.Mark]
		}
	}
	slices.SortFunc(rows, func(a, b *Row) int {
		return cmp.Or(
			cmp.Compare(first[of(a)], first[of(b)]), strings.Compare(a.Namespace, b.Namespace), strings.Compare(of(a).name, of(b).name),
			strings.Compare(a.Train, b.Train), cmp.Compare(rank[a.Mark], rank[b.Mark]), strings.Compare(a.Name, b.Name),
		)
	})
}

func sortedKeys(set map[string]bool) []string {
	keys := make([]string, 0, len(set))
	for key := range set {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
