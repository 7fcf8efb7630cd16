package devforge

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/sluice-dev/sluice/internal/testbed/devforge/gitcmd"
)

// deployment is somebody's word that a commit is being deployed.
type deployment struct {
	id                    int64
	creator               *account
	sha, ref, task        string
	environment, text     string
	payload               json.RawMessage
	transient, production bool
	created               time.Time
	statuses              []*deploymentStatus
}

// deploymentStatus is one reported status of a deployment.
type deploymentStatus struct {
	id                              int64
	creator                         *account
	state, text, environment        string
	target, log, environmentAddress string
	created                         time.Time
}

var deploymentStates = []string{"error", "failure", "inactive", "in_progress", "queued", "pending", "success"}

type deploymentRequest struct {
	Ref              string          `json:"ref"`
	Task             string          `json:"task"`
	AutoMerge        *bool           `json:"auto_merge"`
	RequiredContexts *[]string       `json:"required_contexts"`
	Payload          json.RawMessage `json:"payload"`
	Environment      string          `json:"environment"`
	Description      string          `json:"description"`
	Transient        bool            `json:"transient_environment"`
	Production       *bool           `json:"production_environment"`
}

func (c *call) createDeployment() (answer, error) {
	in, err := decode[deploymentRequest](c)
	if err != nil {
		return answer{}, err
	}
	sha, err := c.repo.git.Resolve(c.ctx, in.Ref)
	if err != nil {
		return answer{}, refuse(http.StatusUnprocessableEntity, "No ref found for: "+in.Ref)
	}
	if in.AutoMerge == nil || *in.AutoMerge {
		merged, err := c.mergeDefaultInto(in.Ref, sha)
		if merged || err != nil {
			message := fmt.Sprintf("Auto-merged %s into %s on deployment.", c.repo.defaultBranch, in.Ref)
			return answer{http.StatusAccepted, object{"message": message}}, err
		}
	}
	if err := c.requireContexts(sha, in.RequiredContexts); err != nil {
		return answer{}, err
	}
	d := c.newDeployment(in, sha)
	c.repo.deployments = append(c.repo.deployments, d)
	return created(c.forge.shape.deployment(c.repo, d))
}

func (c *call) newDeployment(in deploymentRequest, sha string) *deployment {
	environment := cmp.Or(in.Environment, "production")
	production := environment == "production"
	if in.Production != nil {
		production = *in.Production
	}
	if len(in.Payload) == 0 {
		in.Payload = json.RawMessage(`{}`)
	}
	return &deployment{
		id: c.forge.ids.next(), creator: c.by.account, sha: sha, ref: in.Ref, task: cmp.Or(in.Task, "deploy"), environment: environment,
		text: in.Description, payload: in.Payload, transient: in.Transient, production: production, created: c.forge.now(),
	}
}

// mergeDefaultInto brings the default branch into the one to be deployed, if that is behind.
func (c *call) mergeDefaultInto(branch, sha string) (bool, error) {
	tip, known := c.repo.refs[branchPrefix+branch]
	base := c.repo.refs[branchPrefix+c.repo.defaultBranch]
	if !known || c.repo.git.IsAncestor(base, tip) {
		return false, nil
	}
	tree, err := c.repo.git.MergeTrees(c.ctx, sha, base)
	if errors.Is(err, gitcmd.ErrConflict) {
		return false, refuse(http.StatusConflict, fmt.Sprintf("Conflict merging %s into %s.", c.repo.defaultBranch, branch))
	}
	if err != nil {
		return false, err
	}
	merge, err := c.repo.git.Write(c.ctx, gitcmd.Commit{
		Tree: tree, Parents: []string{tip, base}, Author: c.ownSignature(), Committer: c.ownSignature(),
		Message: fmt.Sprintf("Merge %s into %s", c.repo.defaultBranch, branch),
	})
	if err != nil {
		return false, err
	}
	return true, c.moveRef(branchPrefix+branch, merge, tip)
}

// requireContexts refuses to deploy a commit whose statuses are not all successes. Nil stands for
// the contexts that there are, an empty list for none.
func (c *call) requireContexts(sha string, required *[]string) error {
	latest := latestStatuses(c.repo.statuses[sha])
	var contexts []string
	if required == nil {
		for _, v := range latest {
			contexts = append(contexts, v.context)
		}
	} else {
		contexts = *required
	}
	for _, name := range contexts {
		if !slices.ContainsFunc(latest, func(v *status) bool { return v.context == name && v.state == "success" }) {
			return &problem{http.StatusConflict, "Conflict: Commit status checks failed for " + sha + ".", []object{
				{"resource": "Deployment", "field": "required_contexts", "code": "invalid", "message": name},
			}}
		}
	}
	return nil
}

func (s shapes) deployment(r *repository, d *deployment) object {
	url := s.api("/repos/%s/deployments/%d", r.fullName(), d.id)
	return object{
		"id": d.id, "node_id": nodeID("D", d.id), "url": url, "sha": d.sha, "ref": d.ref, "task": d.task, "payload": d.payload,
		"environment": d.environment, "original_environment": d.environment, "description": textOrNull(d.text),
		"creator": s.account(d.creator), "created_at": stamp(d.created), "updated_at": stamp(d.created),
		"statuses_url": url + "/statuses", "repository_url": s.api("/repos/%s", r.fullName()),
		"transient_environment": d.transient, "production_environment": d.production,
	}
}

// listDeployments gives them newest first.
func (c *call) listDeployments() (answer, error) {
	var found []*deployment
	for _, d := range slices.Backward(c.repo.deployments) {
		if c.asks("sha", d.sha) && c.asks("ref", d.ref) && c.asks("task", d.task) && c.asks("environment", d.environment) {
			found = append(found, d)
		}
	}
	return ok(each(pageOf(c, found), func(d *deployment) object { return c.forge.shape.deployment(c.repo, d) }))
}

// asks reports whether the query leaves a value in.
func (c *call) asks(name, value string) bool { return c.query(name) == "" || c.query(name) == value }

func (c *call) theDeployment() (*deployment, error) {
	id := c.number("deployment_id")
	for _, d := range c.repo.deployments {
		if d.id == id {
			return d, nil
		}
	}
	return nil, errNotFound
}

func (c *call) getDeployment() (answer, error) {
	d, err := c.theDeployment()
	if err != nil {
		return answer{}, err
	}
	return ok(c.forge.shape.deployment(c.repo, d))
}

type deploymentStatusRequest struct {
	State          string `json:"state"`
	TargetURL      string `json:"target_url"`
	LogURL         string `json:"log_url"`
	Description    string `json:"description"`
	Environment    string `json:"environment"`
	EnvironmentURL string `json:"environment_url"`
	AutoInactive   *bool  `json:"auto_inactive"`
}

func (c *call) createDeploymentStatus() (answer, error) {
	d, err := c.theDeployment()
	if err != nil {
		return answer{}, err
	}
	in, err := decode[deploymentStatusRequest](c)
	if err != nil {
		return answer{}, err
	}
	switch {
	case !slices.Contains(deploymentStates, in.State):
		return answer{}, invalid("DeploymentStatus", "state", "inclusion", "state is not included in the list")
	case utf8.RuneCountInString(in.Description) > maxDescription:
		return answer{}, invalid("DeploymentStatus", "description", "custom", "description is too long (maximum is 140 characters)")
	}
	v := &deploymentStatus{
		id: c.forge.ids.next(), creator: c.by.account, state: in.State, text: in.Description,
		environment: cmp.Or(in.Environment, d.environment), target: cmp.Or(in.TargetURL, in.LogURL), log: cmp.Or(in.LogURL, in.TargetURL),
		environmentAddress: in.EnvironmentURL, created: c.forge.now(),
	}
	d.statuses = append(d.statuses, v)
	if in.State == "success" && (in.AutoInactive == nil || *in.AutoInactive) {
		c.retire(d)
	}
	return created(c.forge.shape.deploymentStatus(c.repo, d, v))
}

// retire marks the earlier deployments to the same environment as inactive.
func (c *call) retire(by *deployment) {
	for _, d := range c.repo.deployments {
		if d.id >= by.id || d.environment != by.environment || d.transient || d.production || len(d.statuses) == 0 {
			continue
		}
		if d.statuses[len(d.statuses)-1].state == "success" {
			d.statuses = append(d.statuses, &deploymentStatus{
				id: c.forge.ids.next(), creator: c.by.account, state: "inactive", environment: d.environment, created: c.forge.now(),
			})
		}
	}
}

// listDeploymentStatuses gives them newest first.
func (c *call) listDeploymentStatuses() (answer, error) {
	d, err := c.theDeployment()
	if err != nil {
		return answer{}, err
	}
	newest := slices.Clone(d.statuses)
	slices.Reverse(newest)
	return ok(each(pageOf(c, newest), func(v *deploymentStatus) object { return c.forge.shape.deploymentStatus(c.repo, d, v) }))
}

func (s shapes) deploymentStatus(r *repository, d *deployment, v *deploymentStatus) object {
	deployed := s.api("/repos/%s/deployments/%d", r.fullName(), d.id)
	return object{
		"id": v.id, "node_id": nodeID("DS", v.id), "url": fmt.Sprintf("%s/statuses/%d", deployed, v.id), "state": v.state,
		"creator": s.account(v.creator), "description": v.text, "environment": v.environment, "environment_url": v.environmentAddress,
		"target_url": v.target, "log_url": v.log, "created_at": stamp(v.created), "updated_at": stamp(v.created),
		"deployment_url": deployed, "repository_url": s.api("/repos/%s", r.fullName()),
	}
}
