package devforge

import (
	"fmt"
	"strconv"
	"strings"
)

// Sizes of a page of a list.
const (
	defaultPerPage = 30
	maxPerPage     = 100
)

// pageOf returns the part of a list that a call asks for. The Link header says where the others
// are.
func pageOf[T any](c *call, items []T) []T {
	size, at := c.natural("per_page", defaultPerPage), c.natural("page", 1)
	size = min(size, maxPerPage)
	last := max(1, (len(items)+size-1)/size)
	c.link(at, last)
	start := min((at-1)*size, len(items))
	return items[start:min(start+size, len(items))]
}

// natural returns a query value from 1 on.
func (c *call) natural(name string, otherwise int) int {
	n, err := strconv.Atoi(c.query(name))
	if err != nil || n < 1 {
		return otherwise
	}
	return min(n, 1<<20)
}

func (c *call) link(at, last int) {
	var links []string
	add := func(rel string, page int) {
		query := c.req.URL.Query()
		query.Set("page", strconv.Itoa(page))
		links = append(links, fmt.Sprintf(`<%s%s?%s>; rel="%s"`, c.forge.url, c.req.URL.EscapedPath(), query.Encode(), rel))
	}
	if at > 1 {
		add("prev", min(at-1, last))
	}
	if at < last {
		add("next", at+1)
		add("last", last)
	}
	if at > 1 {
		add("first", 1)
	}
	if len(links) > 0 {
		c.header.Set("Link", strings.Join(links, ", "))
	}
}

// each makes a list of JSON objects. An empty one is "[]", not null.
func each[T any](items []T, shape func(T) object) []object {
	list := make([]object, 0, len(items))
	for _, item := range items {
		list = append(list, shape(item))
	}
	return list
}
