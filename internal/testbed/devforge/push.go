package devforge

import (
	"context"
	"maps"
	"slices"

	"github.com/sluice-dev/sluice/internal/testbed/devforge/gitcmd"
)

// refChange is a ref that has come, gone or moved.
type refChange struct{ ref, before, after string }

func (c refChange) branch() string {
	if len(c.ref) > len(branchPrefix) && c.ref[:len(branchPrefix)] == branchPrefix {
		return c.ref[len(branchPrefix):]
	}
	return ""
}

func (c refChange) created() bool { return c.before == gitcmd.Zero }
func (c refChange) deleted() bool { return c.after == gitcmd.Zero }

// changedRefs returns the differences between two states of the refs, by name.
func changedRefs(before, after map[string]string) []refChange {
	var changes []refChange
	for ref, sha := range after {
		old, known := before[ref]
		if !known {
			old = gitcmd.Zero
		}
		if old != sha {
			changes = append(changes, refChange{ref, old, sha})
		}
	}
	for ref, sha := range before {
		if _, left := after[ref]; !left {
			changes = append(changes, refChange{ref, sha, gitcmd.Zero})
		}
	}
	slices.SortFunc(changes, func(a, b refChange) int {
		if a.ref < b.ref {
			return -1
		}
		return 1
	})
	return changes
}

// beginPush remembers who pushes, and what, and gives what is to be done when git has ended.
func (f *Forge) beginPush(repo *repository, by *account) (*push, func(context.Context) error) {
	repo.mu.Lock()
	defer repo.mu.Unlock()
	p := &push{by: by}
	repo.pushing = append(repo.pushing, p)
	return p, func(ctx context.Context) error {
		repo.mu.Lock()
		defer repo.mu.Unlock()
		repo.pushing = slices.DeleteFunc(repo.pushing, func(other *push) bool { return other == p })
		return f.sync(ctx, repo, by, p.commands.Named()...)
	}
}

// catchUp has pushes that git has carried out take effect, though they have not ended yet. All
// other moves take effect with the request that makes them. The caller holds the repository.
func (f *Forge) catchUp(ctx context.Context, repo *repository) error {
	for _, p := range repo.pushing {
		if err := f.sync(ctx, repo, p.by, p.commands.Named()...); err != nil {
			return err
		}
	}
	return nil
}

// sync applies an account's change of refs to pull requests, and sends the events. It leaves
// changes by other accounts to their own sync. The caller holds the repository.
func (f *Forge) sync(ctx context.Context, repo *repository, by *account, named ...string) error {
	if len(named) == 0 {
		return nil
	}
	refs, err := repo.git.Refs(ctx)
	if err != nil {
		return err
	}
	changes := slices.DeleteFunc(changedRefs(repo.refs, refs), func(c refChange) bool { return !slices.Contains(named, c.ref) })
	if len(changes) == 0 {
		return nil
	}
	previous := repo.refs
	repo.refs, repo.pushed = applied(previous, changes), f.now()
	work := update{forge: f, ctx: ctx, repo: repo, by: by, previous: previous}
	for _, step := range []func(refChange) error{work.record, work.tell, work.followHead, work.followBase} {
		for _, change := range changes {
			if err := step(change); err != nil {
				return err
			}
		}
	}
	return nil
}

// applied returns the refs after the changes.
func applied(refs map[string]string, changes []refChange) map[string]string {
	after := maps.Clone(refs)
	for _, c := range changes {
		if c.deleted() {
			delete(after, c.ref)
		} else {
			after[c.ref] = c.after
		}
	}
	return after
}

// update is one run of sync.
type update struct {
	forge *Forge
	ctx   context.Context //nolint:containedctx // it lives as long as the run
	repo  *repository
	by    *account
	// previous are the refs before.
	previous map[string]string
}

// tell makes the event of a push.
func (u update) tell(change refChange) error {
	if !u.repo.listening("push") {
		return nil
	}
	payload, err := u.pushPayload(change)
	if err != nil {
		return err
	}
	u.forge.emit(u.repo, u.by, event{name: "push", payload: payload})
	return nil
}

// followHead brings open pull requests to where their branch is.
func (u update) followHead(change refChange) error {
	for _, p := range u.repo.pulls {
		if p.closed() || p.head != change.branch() {
			continue
		}
		if change.deleted() {
			u.close(p)
		} else if err := u.synchronize(p, change); err != nil {
			return err
		}
		if err := u.announceHead(p, change); err != nil {
			return err
		}
	}
	return nil
}

func (u update) close(p *pull) { p.close(u.by, u.forge.now()) }

func (u update) synchronize(p *pull, change refChange) error {
	p.headSHA, p.updated = change.after, u.forge.now()
	if err := u.repo.git.SetRef(u.ctx, p.ref("head"), p.headSHA); err != nil {
		return err
	}
	// With nothing left to merge, and not because the base has moved, there is no request any more.
	base := u.repo.refs[branchPrefix+p.base]
	if base == p.baseSHA && u.repo.git.IsAncestor(p.headSHA, base) {
		u.close(p)
	}
	return nil
}

func (u update) announceHead(p *pull, change refChange) error {
	if p.closed() {
		return u.forge.emitPull(u.ctx, u.repo, u.by, pullEvent{pull: p, action: "closed"})
	}
	more := object{"before": change.before, "after": change.after}
	return u.forge.emitPull(u.ctx, u.repo, u.by, pullEvent{pull: p, action: "synchronize", more: more})
}

// followBase closes the open pull requests whose base has gone, and marks those as merged whose
// head has come into the base by a push.
func (u update) followBase(change refChange) error {
	for _, p := range u.repo.pulls {
		if p.closed() || p.base != change.branch() {
			continue
		}
		switch {
		case change.deleted():
			u.close(p)
		case u.repo.git.IsAncestor(p.headSHA, change.after):
			if err := u.markMerged(p, change); err != nil {
				return err
			}
		default:
			p.baseSHA = change.after
			continue
		}
		if err := u.forge.emitPull(u.ctx, u.repo, u.by, pullEvent{pull: p, action: "closed"}); err != nil {
			return err
		}
	}
	return nil
}

// markMerged finds the first commit of the base, along its first parents, that has the head.
func (u update) markMerged(p *pull, change refChange) error {
	commits, err := u.repo.git.Log(u.ctx, "--first-parent", "--reverse", change.before+".."+change.after)
	if err != nil {
		return err
	}
	merge := change.after
	for _, commit := range commits {
		if u.repo.git.IsAncestor(p.headSHA, commit.SHA) {
			merge = commit.SHA
			break
		}
	}
	p.markMerged(merge, u.by, u.forge.now())
	return nil
}

// pushPayload returns the push event of one ref.
func (u update) pushPayload(change refChange) (object, error) {
	s := u.forge.shape
	commits, err := u.pushedCommits(change)
	if err != nil {
		return nil, err
	}
	head, err := u.headCommit(change, commits)
	if err != nil {
		return nil, err
	}
	between := change.before[:12] + "..." + change.after[:12]
	return object{
		"ref": change.ref, "before": change.before, "after": change.after, "created": change.created(), "deleted": change.deleted(),
		"forced":   !change.created() && !change.deleted() && !u.repo.git.IsAncestor(change.before, change.after),
		"base_ref": nil, "compare": s.html("/%s/compare/%s", u.repo.fullName(), between), "commits": commits, "head_commit": head,
		"pusher": object{"name": u.by.login, "email": u.by.email},
	}, nil
}

// headCommit returns the commit that the ref is at, which is mostly the last of those pushed; null
// if the ref has gone.
func (u update) headCommit(change refChange, pushed []object) (any, error) {
	if change.deleted() {
		return nil, nil
	}
	if last := len(pushed) - 1; last >= 0 && pushed[last]["id"] == change.after {
		return pushed[last], nil
	}
	commit, changes, err := u.repo.change(u.ctx, change.after)
	return u.forge.shape.pushedCommit(u.repo, commit, changes), err
}

// pushedCommits returns the commits that a ref has gained, oldest first; of a new ref those that no
// other ref had.
func (u update) pushedCommits(change refChange) ([]object, error) {
	list := []object{}
	if change.deleted() {
		return list, nil
	}
	args := []string{"--reverse", change.after, "--not"}
	if change.created() {
		for _, sha := range u.previous {
			args = append(args, sha)
		}
	} else {
		args = append(args, change.before)
	}
	commits, err := u.repo.git.Log(u.ctx, args...)
	if err != nil {
		return nil, err
	}
	for _, commit := range commits {
		full, changes, err := u.repo.change(u.ctx, commit.SHA)
		if err != nil {
			return nil, err
		}
		list = append(list, u.forge.shape.pushedCommit(u.repo, full, changes))
	}
	return list, nil
}
