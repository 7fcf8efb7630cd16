package notices

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// Options say what notices are about and where they go.
type Options struct {
	// Path is the file that names the receivers. It is read again when it changes, as are the files
	// that it names.
	Path string
	// Cluster is the name of this cluster in notices; empty if there is only one.
	Cluster string
	// Namespace has the ConfigMap with the record.
	Namespace string
	// Poll is how often the files are read. Default 10s.
	Poll time.Duration
}

// Times of the notifier.
const (
	usualPoll = 10 * time.Second
	// between is the minimum time between two writes of the record.
	between = time.Second
	// farewell is how long requests may take once the process has to stop, and lastWrites how long all
	// that is written of it.
	farewell   = 2 * time.Second
	lastWrites = 4 * time.Second
	// saving bounds one write of the record.
	saving = 3 * time.Second
	// patience is how long the start waits for the record.
	patience = time.Minute
)

// Notifier watches releases and gates, and sends notices, while this process holds the Lease.
type Notifier struct {
	objects cache.Cache
	store   *store
	clock   clock.Clock
	options Options
	logger  logr.Logger
	config  *Config
}

var (
	_ manager.Runnable               = (*Notifier)(nil)
	_ manager.LeaderElectionRunnable = (*Notifier)(nil)
)

// New makes a Notifier; the manager runs it. It fails if the configuration is invalid.
func New(mgr manager.Manager, now clock.Clock, options Options) (*Notifier, error) {
	config, err := Load(options.Path)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", options.Path, err)
	}
	if options.Namespace == "" {
		return nil, errors.New("the namespace for the record is not known: set --leader-elect-namespace")
	}
	if options.Poll <= 0 {
		options.Poll = usualPoll
	}
	return &Notifier{
		objects: mgr.GetCache(), clock: now, options: options, config: config, logger: mgr.GetLogger().WithName("notices"),
		store: &store{reader: mgr.GetAPIReader(), writer: mgr.GetClient(), namespace: options.Namespace},
	}, nil
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (n *Notifier) NeedLeaderElection() bool { return true }

// Start sends notices until ctx ends. Undelivered notices are then in the record. It returns an
// error if it can't watch.
func (n *Notifier) Start(parent context.Context) error {
	ctx, stop := context.WithCancel(parent)
	defer stop()
	last := n.recall(ctx)
	if ctx.Err() != nil {
		return nil
	}
	desk := newDesk(n.options.Cluster, last)
	all := &posts{desk: desk, clock: n.clock, logger: n.logger}
	kill, endRequests := outlive(ctx, farewell)
	defer endRequests()
	writes, endWrites := outlive(ctx, lastWrites)
	defer endWrites()
	if config, err := Load(n.options.Path); err == nil { // a standby may have started long ago
		n.config = config
	}
	if err := n.use(ctx, kill, all, n.config); err != nil {
		return err
	}
	valid.Set(1)
	desk.restore(last)
	err := n.watch(ctx, desk)
	if err == nil {
		all.group.Go(func() { n.follow(ctx, kill, all) })
		n.keep(ctx, writes, desk)
	}
	stop()
	all.group.Wait() // requests that have begun come to an answer, for some time
	n.last(writes, desk)
	if parent.Err() != nil {
		return nil
	}
	return err
}

// outlive returns a context that ends so long after another one.
func outlive(ctx context.Context, length time.Duration) (context.Context, context.CancelFunc) {
	longer, end := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(length, end) })
	return longer, func() { stop(); end() }
}

// use starts a post for each receiver.
func (n *Notifier) use(stop, kill context.Context, all *posts, config *Config) error {
	clients := make([]*http.Client, len(config.receivers))
	for i, r := range config.receivers {
		made, err := newClient(r)
		if err != nil {
			return fmt.Errorf("receivers[%d].caFile: %w", i, err)
		}
		clients[i] = made
	}
	all.arrange(stop, kill, config.receivers, clients)
	return nil
}

// recall reads the record. Without one, as at the first start, there are no notices about what
// happened before.
func (n *Notifier) recall(ctx context.Context) *record {
	ctx, end := context.WithTimeout(ctx, patience)
	defer end()
	for {
		packed, err := n.store.load(ctx)
		switch {
		case err == nil && packed == nil:
			return nil
		case err == nil:
			last, err := decodeRecord(packed)
			if err != nil {
				n.logger.Error(err, "The record of notices can't be read: no notices are sent about what happened before the start", "configMap", RecordName)
			}
			return last
		case apierrors.IsForbidden(err) || ctx.Err() != nil:
			n.logger.Error(err, "The record of notices can't be read: no notices are sent about what happened before the start")
			return nil
		}
		n.wait(ctx, between)
	}
}

func (n *Notifier) wait(ctx context.Context, length time.Duration) {
	timer := n.clock.NewTimer(length)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C():
	}
}

// restore queues what the process before this one has not delivered.
func (d *desk) restore(last *record) {
	if last == nil {
		return
	}
	d.lock.Lock()
	defer d.lock.Unlock()
	for _, p := range last.Pending {
		named := p.Receivers
		d.number++
		p.number, p.Receivers = d.number, nil
		d.hand(p, append([]string{}, named...))
	}
}

// watch follows releases, and then their gates.
func (n *Notifier) watch(ctx context.Context, desk *desk) error {
	if err := n.handle(ctx, &v1alpha1.BatchRelease{}, releases{n.clock, desk}); err != nil {
		return err
	}
	if err := n.handle(ctx, &v1alpha1.Gate{}, gates{ctx, n.clock, n.objects, desk}); err != nil {
		return err
	}
	desk.settle()
	return nil
}

// handle returns when the handler has seen all that there is.
func (n *Notifier) handle(ctx context.Context, object client.Object, handler toolscache.ResourceEventHandler) error {
	informer, err := n.objects.GetInformer(ctx, object)
	if err != nil {
		return fmt.Errorf("watch %T: %w", object, err)
	}
	registered, err := informer.AddEventHandler(handler)
	if err != nil {
		return fmt.Errorf("watch %T: %w", object, err)
	}
	context.AfterFunc(ctx, func() { _ = informer.RemoveEventHandler(registered) })
	if !toolscache.WaitForCacheSync(ctx.Done(), registered.HasSynced) {
		return ctx.Err()
	}
	return nil
}

// follow reads the configuration again and again. While it is invalid, the previous one stays in
// use.
func (n *Notifier) follow(stop, kill context.Context, all *posts) {
	digest, problem := n.config.digest, ""
	for {
		n.wait(stop, n.options.Poll)
		if stop.Err() != nil {
			return
		}
		config, err := Load(n.options.Path)
		if err == nil && config.digest != digest {
			if err = n.use(stop, kill, all, config); err == nil {
				digest = config.digest
				n.logger.Info("Configuration of notices read", "receivers", len(config.receivers))
			}
		}
		if err == nil {
			valid.Set(1)
			problem = ""
			continue
		}
		valid.Set(0)
		if words := err.Error(); words != problem {
			problem = words
			n.logger.Error(err, "The configuration of notices is invalid: the previous one stays in use", "file", n.options.Path)
		}
	}
}

// keep writes the record while there is news, at most once a second.
func (n *Notifier) keep(ctx, writes context.Context, desk *desk) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-desk.dirty:
		}
		n.wait(ctx, between)
		if ctx.Err() != nil {
			desk.touch()
			return
		}
		err := n.save(writes, desk, true)
		if err == nil {
			continue
		}
		desk.touch()
		if ctx.Err() != nil {
			return
		}
		n.logger.Error(err, "The record of notices can't be written: trying again")
		n.wait(ctx, between)
	}
}

// save writes the record. A write that has begun comes to an answer even when the process has to
// stop, so that ctx outlives it: without an answer, nobody knows on which version the next one has
// to be based.
func (n *Notifier) save(ctx context.Context, desk *desk, insist bool) error {
	ctx, end := context.WithTimeout(ctx, saving)
	defer end()
	packed, cut, err := desk.pack()
	if err != nil || packed == nil {
		return err
	}
	if cut {
		n.logger.Info("The record of notices is too large: a part of it is left out")
	}
	if err := n.store.save(ctx, packed, insist); err != nil {
		unrecorded.Inc()
		return err
	}
	return nil
}

// last writes the record a last time. If another process holds the Lease by now, what that has
// written stays.
func (n *Notifier) last(ctx context.Context, desk *desk) {
	select {
	case <-desk.dirty:
	default:
		return
	}
	if err := n.save(ctx, desk, false); err != nil {
		n.logger.Info("The record of notices was not written at the end: some may be sent twice", "error", err.Error())
	}
}

// releases handles what informers see of BatchReleases.
type releases struct {
	clock clock.PassiveClock
	desk  *desk
}

// OnAdd implements cache.ResourceEventHandler.
func (r releases) OnAdd(object any, initial bool) {
	if release, is := object.(*v1alpha1.BatchRelease); is {
		r.desk.release(nil, release, initial, r.clock.Now())
	}
}

// OnUpdate implements cache.ResourceEventHandler.
func (r releases) OnUpdate(before, after any) {
	was, isBefore := before.(*v1alpha1.BatchRelease)
	is, isAfter := after.(*v1alpha1.BatchRelease)
	switch now := r.clock.Now(); {
	case !isBefore || !isAfter:
	case was.UID != is.UID: // the watch was interrupted, and another object has the name by now
		r.desk.gone(was, now)
		r.desk.release(nil, is, false, now)
	default:
		r.desk.release(was, is, false, now)
	}
}

// OnDelete implements cache.ResourceEventHandler.
func (r releases) OnDelete(object any) {
	if last, is := lastOf(object).(*v1alpha1.BatchRelease); is {
		r.desk.gone(last, r.clock.Now())
	}
}

// gates handles what informers see of Gates.
type gates struct {
	ctx      context.Context //nolint:containedctx // handlers of informers get none
	clock    clock.PassiveClock
	releases client.Reader
	desk     *desk
}

// OnAdd implements cache.ResourceEventHandler.
func (g gates) OnAdd(object any, initial bool) { g.see(object, initial) }

// OnUpdate implements cache.ResourceEventHandler.
func (g gates) OnUpdate(before, after any) {
	was, isBefore := before.(*v1alpha1.Gate)
	is, isAfter := after.(*v1alpha1.Gate)
	if isBefore && isAfter && was.UID != is.UID {
		g.desk.gateGone(was)
	}
	g.see(after, false)
}

// OnDelete implements cache.ResourceEventHandler.
func (g gates) OnDelete(object any) {
	if gate, is := lastOf(object).(*v1alpha1.Gate); is {
		g.desk.gateGone(gate)
	}
}

func (g gates) see(object any, initial bool) {
	gate, is := object.(*v1alpha1.Gate)
	if !is {
		return
	}
	// From the cache: nothing is requested.
	release := &v1alpha1.BatchRelease{}
	key := client.ObjectKey{Namespace: gate.Namespace, Name: gate.Spec.ReleaseRef.Name}
	if err := g.releases.Get(g.ctx, key, release); err != nil {
		release = nil
	}
	g.desk.gate(gate, release, initial, g.clock.Now())
}

// lastOf returns an object that is gone, as it was last seen.
func lastOf(object any) any {
	if gone, is := object.(toolscache.DeletedFinalStateUnknown); is {
		return gone.Obj
	}
	return object
}
