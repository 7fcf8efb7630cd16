package devforge

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
)

// hook is a webhook: the URL that receives a repository's events.
type hook struct {
	id          int64
	url, secret string
	contentType string
	active      bool
	events      []string
	created     time.Time
	queue       *queue
}

func (h *hook) wants(name string) bool {
	return h.active && (slices.Contains(h.events, name) || slices.Contains(h.events, "*"))
}

// listening reports whether an event of that name would be sent anywhere.
func (r *repository) listening(name string) bool {
	return slices.ContainsFunc(r.hooks, func(h *hook) bool { return h.wants(name) })
}

// Hook is a webhook that AddHook makes.
type Hook struct {
	// URL takes the events. It must be on this machine.
	URL string
	// Secret signs what is sent; empty for no signature.
	Secret string
	// Events are names such as push or pull_request; none stands for all.
	Events []string
}

// AddHook sends a repository's events to a URL from now on, a ping first. It gives the hook's id.
func (f *Forge) AddHook(ctx context.Context, repository string, spec Hook) (int64, error) {
	repo, err := f.repository(ctx, repository)
	if err != nil {
		return 0, fmt.Errorf("add hook: %w", err)
	}
	if !onThisMachine(spec.URL) {
		return 0, fmt.Errorf("add hook: %q is not on this machine", spec.URL)
	}
	repo.mu.Lock()
	defer repo.mu.Unlock()
	h := &hook{url: spec.URL, secret: spec.Secret, contentType: "json", active: true, events: spec.Events}
	if len(h.events) == 0 {
		h.events = []string{"*"}
	}
	f.addHook(repo, h, f.who.ghost)
	return h.id, nil
}

// RemoveHook stops new deliveries to a hook. Queued deliveries are still sent.
func (f *Forge) RemoveHook(ctx context.Context, repository string, id int64) error {
	repo, err := f.repository(ctx, repository)
	if err != nil {
		return fmt.Errorf("remove hook: %w", err)
	}
	repo.mu.Lock()
	defer repo.mu.Unlock()
	if !repo.removeHook(id) {
		return fmt.Errorf("remove hook %d: %w", id, ErrUnknown)
	}
	return nil
}

// SetHookSecret has what a hook gets from now on signed with another secret.
func (f *Forge) SetHookSecret(ctx context.Context, repository string, id int64, secret string) error {
	repo, err := f.repository(ctx, repository)
	if err != nil {
		return fmt.Errorf("set secret of hook: %w", err)
	}
	repo.mu.Lock()
	defer repo.mu.Unlock()
	for _, h := range repo.hooks {
		if h.id == id {
			h.secret = secret
			return nil
		}
	}
	return fmt.Errorf("set secret of hook %d: %w", id, ErrUnknown)
}

func (r *repository) removeHook(id int64) bool {
	before := len(r.hooks)
	r.hooks = slices.DeleteFunc(r.hooks, func(h *hook) bool { return h.id == id })
	return len(r.hooks) < before
}

func (f *Forge) addHook(repo *repository, h *hook, by *account) {
	h.id, h.created, h.queue = f.ids.next(), f.now(), f.deliveries.newQueue()
	repo.hooks = append(repo.hooks, h)
	f.deliver(repo, h, event{name: "ping", payload: object{
		"zen": "Keep it logically awesome.", "hook_id": h.id, "hook": f.shape.hook(repo, h),
		"repository": f.shape.repository(repo), "sender": f.shape.account(by),
	}})
}

// onThisMachine keeps the forge from sending anything out.
func onThisMachine(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return false
	}
	if u.Hostname() == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return err == nil && ip.IsLoopback()
}

type hookRequest struct {
	Name   string `json:"name"`
	Config struct {
		URL         string `json:"url"`
		ContentType string `json:"content_type"`
		Secret      string `json:"secret"`
	} `json:"config"`
	Events []string `json:"events"`
	Active *bool    `json:"active"`
}

func (c *call) createHook() (answer, error) {
	in, err := decode[hookRequest](c)
	if err != nil {
		return answer{}, err
	}
	if !onThisMachine(in.Config.URL) {
		return answer{}, invalid("Hook", "url", "custom", "url is not supported because it isn't on this machine")
	}
	h := &hook{
		url: in.Config.URL, secret: in.Config.Secret, contentType: cmp.Or(in.Config.ContentType, "form"),
		active: in.Active == nil || *in.Active, events: in.Events,
	}
	if len(h.events) == 0 {
		h.events = []string{"push"}
	}
	if slices.ContainsFunc(c.repo.hooks, func(other *hook) bool { return other.url == h.url && slices.Equal(other.events, h.events) }) {
		return answer{}, invalid("Hook", "", "custom", "Hook already exists on this repository")
	}
	c.forge.addHook(c.repo, h, c.by.account)
	return created(c.forge.shape.hook(c.repo, h))
}

func (c *call) listHooks() (answer, error) {
	return ok(each(pageOf(c, c.repo.hooks), func(h *hook) object { return c.forge.shape.hook(c.repo, h) }))
}

func (c *call) getHook() (answer, error) {
	id := c.number("hook_id")
	for _, h := range c.repo.hooks {
		if h.id == id {
			return ok(c.forge.shape.hook(c.repo, h))
		}
	}
	return answer{}, errNotFound
}

func (c *call) deleteHook() (answer, error) {
	if !c.repo.removeHook(c.number("hook_id")) {
		return answer{}, errNotFound
	}
	return noContent()
}

func (s shapes) hook(r *repository, h *hook) object {
	url := s.api("/repos/%s/hooks/%d", r.fullName(), h.id)
	config := object{"url": h.url, "content_type": h.contentType, "insecure_ssl": "0"}
	if h.secret != "" {
		config["secret"] = strings.Repeat("*", 8)
	}
	return object{
		"type": "Repository", "id": h.id, "name": "web", "active": h.active, "events": h.events, "config": config,
		"created_at": stamp(h.created), "updated_at": stamp(h.created), "url": url, "test_url": url + "/test", "ping_url": url + "/pings",
		"deliveries_url": url + "/deliveries", "last_response": object{"code": nil, "status": "unused", "message": nil},
	}
}
