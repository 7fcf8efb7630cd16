package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/sluice-dev/sluice/cli/check"
	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/connect"
	"github.com/sluice-dev/sluice/forge/github"
	"github.com/sluice-dev/sluice/gitsync/gitrepo"
	"github.com/sluice-dev/sluice/gitsync/sandbox"
	"github.com/sluice-dev/sluice/gitsync/spec"
)

// repositoryFlags say which repository is to be looked at from here, and as whom.
type repositoryFlags struct {
	url, branch, path string
	forge, apiURL     string
	tokenFile         string
	tokenVariable     string
	sshKeyFile        string
	knownHostsFile    string
	caFile            string
	appID             int64
	appKeyFile        string
	deployments       bool
	webhook           string

	git       gitrepo.Options
	forgeHTTP bool
	manifests spec.Limits
	helm      helmFlags
	builds    sandbox.Options
}

func (f *repositoryFlags) register(set *pflag.FlagSet) {
	set.StringVar(&f.url, "repository", "", "`URL` of a repository to check from this machine, without a cluster")
	set.StringVar(&f.branch, "branch", "main", "`branch` of --repository")
	set.StringVar(&f.path, "path", ".", "`folder` of --repository to read")
	set.StringVar(&f.tokenFile, "token-file", "", "`file` with a token, for Git over https and for --forge")
	set.StringVar(&f.tokenVariable, "token-env", "", "environment `variable` with that token instead")
	set.StringVar(&f.sshKeyFile, "ssh-key-file", "", "`file` with a private key, for Git over ssh")
	set.StringVar(&f.knownHostsFile, "known-hosts-file", "", "`file` with host keys of ssh servers, such as ~/.ssh/known_hosts")
	set.StringVar(&f.caFile, "ca-file", "", "`file` with certificates (PEM) to trust in addition to the system's")
	set.StringVar(&f.forge, "forge", "", "`type` of the forge of --repository, to check it too: GitHub, Gitea or GitLab")
	set.StringVar(&f.apiURL, "api-url", "", "`URL` of the forge (default the server of --repository)")
	set.Int64Var(&f.appID, "app-id", 0, "`ID` of a GitHub App to use instead of a token")
	set.StringVar(&f.appKeyFile, "app-key-file", "", "`file` with the private key of that App")
	set.BoolVar(&f.deployments, "deployments", false, "also check the permission to create deployments")
	set.StringVar(&f.webhook, "webhook-url", "", "`URL` that the forge sends webhooks to")
	set.BoolVar(&f.git.AllowHTTP, "git-allow-http", false, "allow http:// repositories, as the controller's flag does")
	set.BoolVar(&f.git.AllowFile, "git-allow-file", false, "allow file:// repositories, as the controller's flag does")
	set.BoolVar(&f.forgeHTTP, "forge-allow-http", false, "allow http:// forges on loopback addresses, as the controller's flag does")
	registerAllowedNetworks(set, &f.git)
	f.helm.register(set)
	set.Func("git-max-file", "greatest `size` of one file (default 4Mi)", size(&f.git.Limits.FileBytes, &f.manifests.FileBytes))
	registerGitLimits(set, &f.git.Limits)
	registerManifestLimits(set, &f.manifests, &f.builds)
	registerUnhurried(set, &f.builds)
}

// check refuses flags that contradict each other.
func (f *repositoryFlags) check() error {
	asToken, asApp := f.tokenFile != "" || f.tokenVariable != "", f.appID != 0 || f.appKeyFile != ""
	problem := ""
	switch {
	case f.url == "" && (f.forge != "" || asToken || asApp || f.sshKeyFile != ""):
		problem = "say with --repository what to look at"
	case f.forge != "" && forge.ParseType(f.forge) == "":
		problem = fmt.Sprintf("--forge must be one of %s, not %q", forge.Types(), f.forge)
	case f.tokenFile != "" && f.tokenVariable != "", asToken && asApp:
		problem = "give one of --token-file, --token-env and --app-id"
	case asApp && (f.appID <= 0 || f.appKeyFile == ""):
		problem = "--app-id and --app-key-file go together"
	case f.forge == "" && (asApp || f.apiURL != "" || f.webhook != "" || f.deployments):
		problem = "say with --forge=github where that is"
	case f.forge != "" && !asToken && !asApp:
		problem = "--forge needs --token-file, --token-env, or --app-id and --app-key-file"
	}
	if problem != "" {
		return usageError{errors.New(problem)}
	}
	return f.helm.check()
}

// findings returns what is found of the repository, and of its forge if there is one. The namespace
// is the one that its ReleaseSource will be in; empty for any.
func (f *repositoryFlags) findings(ctx context.Context, namespace string) ([]check.Finding, error) {
	auth, err := f.auth()
	if err != nil {
		return nil, err
	}
	look := &look{common: f.common(), branch: f.branch, deployments: f.deployments, receiver: f.webhook, repository: &check.Repository{
		Git: f.git, Source: gitrepo.Source{URL: f.url, Branch: f.branch, Auth: auth}, Path: f.path,
		Manifests: (&sourceFlags{namespace: namespace, limits: f.manifests, helm: f.helm, builds: f.builds}).options(ctx),
	}}
	if f.forge == "" {
		return look.findings(ctx), nil
	}
	if look.forge, err = f.access(auth); err != nil {
		return nil, err
	}
	if look.gitAsApp, err = github.AppOf(look.forge.Secret); err != nil {
		return nil, err
	}
	return look.findings(ctx), nil
}

// auth returns the credentials for Git, but for those of an App.
func (f *repositoryFlags) auth() (gitrepo.Auth, error) {
	auth := gitrepo.Auth{Username: github.GitUser}
	if f.tokenVariable != "" {
		auth.Password = os.Getenv(f.tokenVariable)
		if auth.Password == "" {
			return auth, fmt.Errorf("read token: the environment has no %s", f.tokenVariable)
		}
	}
	var token []byte
	for _, secret := range []struct {
		file string
		into *[]byte
	}{{f.tokenFile, &token}, {f.sshKeyFile, &auth.PrivateKey}, {f.knownHostsFile, &auth.KnownHosts}, {f.caFile, &auth.CABundle}} {
		if secret.file == "" {
			continue
		}
		content, err := os.ReadFile(secret.file)
		if err != nil {
			return auth, fmt.Errorf("read credentials: %w", err)
		}
		*secret.into = content
	}
	auth.Password = cmp.Or(auth.Password, strings.TrimSpace(string(token)))
	if f.sshKeyFile != "" {
		auth.Username = "" // the address has it
	}
	return auth, nil
}

// access returns the address of the forge, and the login there.
func (f *repositoryFlags) access(auth gitrepo.Auth) (*forge.Access, error) {
	server, owner, name := placeOf(f.url)
	access := &forge.Access{
		Type: forge.ParseType(f.forge), BaseURL: cmp.Or(f.apiURL, server), Owner: owner, Repository: name, Deployments: f.deployments,
		Secret: map[string][]byte{"ca.crt": auth.CABundle},
	}
	if access.Type == forge.TypeGitLab {
		access.Owner = groupOf(f.url)
	}
	if f.appID == 0 {
		access.Secret["token"] = []byte(auth.Password)
		return access, nil
	}
	key, err := os.ReadFile(f.appKeyFile)
	if err != nil {
		return nil, fmt.Errorf("read key of the app: %w", err)
	}
	access.Secret["appID"], access.Secret["privateKey"] = []byte(strconv.FormatInt(f.appID, 10)), key
	return access, nil
}

// common returns what clients of forges may connect to.
func (f *repositoryFlags) common() connect.Common {
	return connect.Common{AllowHTTP: f.forgeHTTP, Networks: f.git.Networks, Git: gitrepo.NewReader(f.git)}
}

// placeOf takes the address of a repository apart: the server's for people, and owner and name on
// it.
func placeOf(address string) (server, owner, name string) {
	parts := strings.FieldsFunc(strings.TrimSuffix(strings.TrimRight(address, "/"), ".git"), func(r rune) bool { return r == '/' || r == ':' })
	if len(parts) > 2 {
		owner, name = parts[len(parts)-2], parts[len(parts)-1]
	}
	at, err := url.Parse(address)
	switch {
	case err != nil || at.Host == "": // user@host:path
		host, _, _ := strings.Cut(address[strings.Index(address, "@")+1:], ":")
		server = "https://" + host
	case at.Scheme == "http":
		server = "http://" + at.Host
	case at.Scheme == "https":
		server = "https://" + at.Host
	default:
		server = "https://" + at.Hostname()
	}
	return server, owner, name
}

// groupOf returns all of a repository's path but its last part: a group may be in another.
func groupOf(address string) string {
	_, path, _ := strings.Cut(address[strings.Index(address, "@")+1:], ":") // user@host:path
	if at, err := url.Parse(address); err == nil && at.Host != "" {
		path = at.Path
	}
	path = strings.Trim(path, "/")
	return path[:max(strings.LastIndex(path, "/"), 0)]
}

// look is at a repository and its forge, from here.
type look struct {
	of, branch, receiver string
	deployments          bool
	repository           *check.Repository
	// forge is nil if there is none, or none can be looked at.
	forge  *forge.Access
	common connect.Common
	// gitAsApp reads the repository, too; nil if other credentials do.
	gitAsApp *github.App
}

func (l *look) findings(ctx context.Context) []check.Finding {
	var findings []check.Finding
	if err := l.takeGitToken(ctx); err != nil {
		findings = append(findings, check.Finding{
			Grade: check.Failed, Subject: l.of + "repository", Text: err.Error(),
			Remedy: "check the App: docs/github-app.md#give-it-to-sluice",
		})
	} else {
		findings = l.repository.Check(ctx)
	}
	if l.forge == nil {
		return findings
	}
	api, err := connect.New(l.common).Inspector(*l.forge)
	if err != nil {
		return append(findings, check.Finding{
			Grade: check.Failed, Subject: l.of + "forge", Text: err.Error(), Remedy: "correct what is given: docs/forge.md",
		})
	}
	at := &check.Forge{Of: l.of, Type: l.forge.Type, Client: api, Branch: l.branch, Deployments: l.deployments, Receiver: l.receiver}
	return append(findings, at.Check(ctx)...)
}

// takeGitToken has Git sign in as the App, if it is to.
func (l *look) takeGitToken(ctx context.Context) error {
	switch {
	case l.gitAsApp == nil:
		return nil
	case l.forge == nil:
		return errors.New("the Secret holds a GitHub App: set spec.forge, which says where it is installed")
	}
	app := *l.gitAsApp
	app.GitOnly = true
	api, err := connect.New(l.common).GitHub.Client(github.Options{
		BaseURL: l.forge.BaseURL, Owner: l.forge.Owner, Repository: l.forge.Repository, App: &app, CABundle: l.forge.Secret["ca.crt"],
	})
	if err != nil {
		return err
	}
	token, err := api.GitToken(ctx)
	if err != nil {
		return err
	}
	l.repository.Source.Auth.Username, l.repository.Source.Auth.Password = github.GitUser, token
	return nil
}
