package devforge

import (
	"net/http"
	"strings"

	"github.com/sluice-dev/sluice/internal/testbed/devforge/smarthttp"
)

// push is one in progress.
type push struct {
	by       *account
	commands smarthttp.Commands
}

func (f *Forge) smart() smarthttp.Server { return smarthttp.Server{Git: f.git, Log: f.log} }

// advertiseRefs answers the first request of each clone, fetch and push: the list of refs.
func (f *Forge) advertiseRefs(w http.ResponseWriter, r *http.Request) {
	svc, ok := smarthttp.ServiceOf(w, r)
	if !ok {
		return
	}
	if repo, _, ok := f.gitAccess(w, r, svc); ok {
		f.smart().AdvertiseRefs(w, r, svc, repo.git.Dir())
	}
}

// fetch handles the RPC request of a fetch.
func (f *Forge) fetch(w http.ResponseWriter, r *http.Request) {
	if repo, _, ok := f.gitAccess(w, r, smarthttp.UploadPack); ok {
		f.smart().Fetch(w, r, repo.git.Dir())
	}
}

// receive handles the RPC request of a push.
func (f *Forge) receive(w http.ResponseWriter, r *http.Request) {
	repo, by, ok := f.gitAccess(w, r, smarthttp.ReceivePack)
	if !ok {
		return
	}
	begun, effects := f.beginPush(repo, by.account)
	f.smart().Push(w, r, repo.git.Dir(), &begun.commands, effects)
}

// gitAccess finds the repository of a request and who sends it, or answers why it is not served.
func (f *Forge) gitAccess(w http.ResponseWriter, r *http.Request, svc smarthttp.Service) (*repository, actor, bool) {
	by, known := f.authenticate(r)
	if !known || by.anonymous && svc == smarthttp.ReceivePack {
		smarthttp.AskForPassword(w, "devforge")
		return nil, by, false
	}
	repo, err := f.repository(r.Context(), r.PathValue("owner")+"/"+strings.TrimSuffix(r.PathValue("repo"), ".git"))
	role, level := RoleRead, "read"
	if svc == smarthttp.ReceivePack {
		role, level = RoleWrite, "write"
	}
	switch {
	case by.anonymous && (err != nil || f.roleIn(by, repo) < role):
		smarthttp.AskForPassword(w, "devforge") // what there is stays untold
	case err != nil || f.roleIn(by, repo) < RoleRead:
		http.Error(w, "repository not found", http.StatusNotFound)
	case f.roleIn(by, repo) < role || !by.permissions().allows("contents", level):
		http.Error(w, "write access is not granted", http.StatusForbidden)
	default:
		return repo, by, true
	}
	return nil, by, false
}
