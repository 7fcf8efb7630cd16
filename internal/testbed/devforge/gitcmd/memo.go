package gitcmd

import (
	"context"
	"slices"
	"strings"
	"sync"
)

// maxRemembered bounds what is remembered of one repository; beyond it everything is asked again.
const maxRemembered = 1024

// memo remembers what git said of objects, which never change.
type memo struct {
	mu      sync.Mutex
	answers map[string]string
}

func (m *memo) get(key string) (answer string, found bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	answer, found = m.answers[key]
	return answer, found
}

func (m *memo) put(key, answer string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.answers == nil || len(m.answers) >= maxRemembered {
		m.answers = map[string]string{}
	}
	m.answers[key] = answer
}

// outputOf returns the output of a command that is about objects and nothing else. It is remembered
// where each of them is given by its full name: any other can stand for something else the next
// time.
func (r *Repository) outputOf(ctx context.Context, args []string, objects ...string) (string, error) {
	args = slices.Concat(args, objects)
	for _, object := range objects {
		if !objectName.MatchString(object) {
			return r.output(ctx, call{args: args})
		}
	}
	key := strings.Join(args, " ")
	if answer, found := r.memo.get(key); found {
		return answer, nil
	}
	answer, err := r.output(ctx, call{args: args})
	if err == nil {
		r.memo.put(key, answer)
	}
	return answer, err
}
