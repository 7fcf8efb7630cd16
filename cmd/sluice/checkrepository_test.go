package main

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/devforge"
)

const goodRelease = `apiVersion: rollouts.sluice.dev/v1alpha1
kind: BatchRelease
metadata: {name: web}
spec:
  workloadRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: web:1}]}
  strategy: {steps: [{replicas: 1}, {replicas: 100%}]}
`

// checkedForge returns a forge with a repository that is well, shop/web, and one that is not,
// shop/broken.
func checkedForge(t *testing.T) *devforge.Forge {
	t.Helper()
	forge, err := devforge.Start(t.Context(), devforge.Options{Dir: t.TempDir(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatalf("start forge: %v", err)
	}
	t.Cleanup(func() {
		if err := forge.Close(); err != nil {
			t.Errorf("close forge: %v", err)
		}
	})
	for name, content := range map[string]string{"shop/web": goodRelease, "shop/broken": strings.Replace(goodRelease, "strategy", "stratgy", 1)} {
		files := fstest.MapFS{"deploy/web.yaml": {Data: []byte(content)}}
		if err := forge.CreateRepository(t.Context(), name, "main", files); err != nil {
			t.Fatalf("create repository: %v", err)
		}
	}
	return forge
}

// member returns a token of a new account with a role in shop/web and shop/broken.
func member(t *testing.T, forge *devforge.Forge, name string, role devforge.Role, permissions devforge.Permissions) string {
	t.Helper()
	_, err := forge.CreateUser(name)
	for _, repository := range []string{"shop/web", "shop/broken"} {
		if err == nil {
			err = forge.Grant(repository, name, role)
		}
	}
	token := ""
	if err == nil {
		token, err = forge.CreateToken(name, permissions)
	}
	if err != nil {
		t.Fatalf("make member: %v", err)
	}
	return token
}

func secretFile(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte(content+"\n"), 0o600); err != nil {
		t.Fatalf("write secret: %v", err)
	}
	return path
}

// appFlags makes a GitHub App in shop/web, and the flags with which sluice is it.
func appFlags(t *testing.T, forge *devforge.Forge, slug string, permissions devforge.Permissions) []string {
	t.Helper()
	app, err := forge.CreateApp(slug, permissions)
	if err == nil {
		_, err = forge.InstallApp(app.ID, "shop", "shop/web")
	}
	if err != nil {
		t.Fatalf("make app: %v", err)
	}
	return []string{fmt.Sprintf("--app-id=%d", app.ID), "--app-key-file=" + secretFile(t, string(app.PrivateKey))}
}

// TestCheckRepository: before there is a source, and without a cluster, it is told whether the
// repository can be read and is well, and whether the account has its rights; each failure with its
// remedy, and no secret.
func TestCheckRepository(t *testing.T) {
	t.Parallel()
	forge := checkedForge(t)
	good := member(t, forge, "sluice", devforge.RoleWrite, nil)
	admin := member(t, forge, "ada", devforge.RoleAdmin, nil)
	reader := member(t, forge, "bob", devforge.RoleRead, nil)
	narrow := member(t, forge, "eve", devforge.RoleWrite, devforge.Permissions{"contents": "read", "pull_requests": "write", "statuses": "read"})
	revoked := member(t, forge, "old", devforge.RoleWrite, nil)
	forge.RevokeToken(revoked)
	if _, err := forge.AddHook(t.Context(), "shop/web", devforge.Hook{URL: "http://127.0.0.1:1/hooks/shop/web", Secret: "s"}); err != nil {
		t.Fatalf("add hook: %v", err)
	}
	rights := devforge.Permissions{"contents": "write", "pull_requests": "write", "statuses": "write", "checks": "read"}
	less := devforge.Permissions{"metadata": "read", "contents": "write", "pull_requests": "read", "checks": "read"}

	web := "--repository=" + forge.URL() + "/shop/web.git"
	as := func(token string) []string {
		return []string{web, "--forge=github", "--token-file=" + secretFile(t, token)}
	}
	cases := map[string]struct {
		args []string
		code int
		want []string
	}{
		"Good": {append(as(good), "--deployments"), exitOK, []string{
			"ok|repository|branch main can be read", "ok|files|releases: 1, manifest files read: 1", "ok|account|the forge knows us as sluice",
			"ok|right to push branches|granted", "ok|right to open pull requests|granted", "ok|right to post commit statuses|granted",
			"ok|right to make deployments|granted",
			"warning|protection of branch main|there is none", "-> protect the branch: docs/github-app.md#protect-the-branch",
		}},
		"Revoked": {as(revoked), exitError, []string{
			"failed|repository|", "-> give it credentials that are good", "failed|account|", "revoked or expired: docs/github-app.md#change-keys-and-secrets",
		}},
		"ReadOnly": {as(reader), exitError, []string{
			"ok|repository|", "failed|right to push branches|not granted", "ok|right to read contents|granted", "failed|right to post commit statuses|not granted",
		}},
		"Narrow": {as(narrow), exitError, []string{
			"failed|right to push branches|not granted", "-> grant Contents: read and write", "ok|right to open pull requests|granted",
			"failed|right to post commit statuses|not granted", "-> grant Commit statuses: read and write",
			"warning|right to read checks|not granted: checkRun gates can't pass",
		}},
		"App": {append(appFlags(t, forge, "sluice-app", rights), web, "--forge=github"), exitOK, []string{
			"ok|repository|", "ok|account|the forge knows us as sluice-app[bot]", "ok|right to push branches|granted",
		}},
		"AppLacks": {append(appFlags(t, forge, "less", less), web, "--forge=github"), exitError, []string{
			"ok|repository|", "failed|account|the installation of the App lacks pull_requests: write, statuses: write", "docs/github-app.md#make-the-app",
		}},
		"NoBranch":  {append(as(good), "--branch=release"), exitError, []string{"failed|repository|", "-> push the branch, or name another"}},
		"NoFolder":  {append(as(good), "--path=apps"), exitError, []string{"failed|files|", "-> correct --path"}},
		"BadFile":   {append(as(good), "--repository="+forge.URL()+"/shop/broken"), exitError, []string{"failed|deploy/web.yaml:9|", "stratgy", "-> correct the file"}},
		"Unknown":   {append(as(good), "--repository="+forge.URL()+"/shop/none"), exitError, []string{"failed|repository|", "-> correct the address", "failed|forge|"}},
		"TooLarge":  {append(as(good), "--git-max-inflated=100"), exitError, []string{"failed|repository|", "--git-max limits"}},
		"NoServer":  {[]string{"--repository=http://127.0.0.1:1/shop/web"}, exitError, []string{"failed|repository|", "-> check the network"}},
		"Webhook":   {append(as(admin), "--webhook-url=http://127.0.0.1:1/hooks/shop/web"), exitOK, []string{"ok|webhook|sends what is needed"}},
		"NoWebhook": {append(as(admin), "--webhook-url=http://127.0.0.1:1/hooks/shop/api"), exitOK, []string{"warning|webhook|there is none to"}},
		"Unshown":   {append(as(good), "--webhook-url=http://127.0.0.1:1/hooks/shop/web"), exitOK, []string{"warning|webhook|not shown to this account"}},
	}
	secrets := []string{good, admin, reader, narrow, revoked, "PRIVATE KEY"}
	spaces := regexp.MustCompile(` {2,}`)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var stdout, stderr bytes.Buffer
			code := run(t.Context(), append([]string{"check", "--git-allow-http", "--forge-allow-http", "--git-allowed-networks=127.0.0.0/8"}, tc.args...), &stdout, &stderr)
			said := spaces.ReplaceAllString(stdout.String(), "|")
			if code != tc.code {
				t.Errorf("want exit code %d, got %d: %s\n%s", tc.code, code, stderr.String(), said)
			}
			for _, part := range tc.want {
				if !strings.Contains(said, part) {
					t.Errorf("want %q in:\n%s", part, said)
				}
			}
			for _, secret := range secrets {
				if strings.Contains(stdout.String()+stderr.String(), secret) {
					t.Errorf("want no secret told, got:\n%s%s", stdout.String(), stderr.String())
				}
			}
		})
	}
}

// TestCheckRepositoryFlags: flags that are invalid together are refused before anything is asked.
func TestCheckRepositoryFlags(t *testing.T) {
	t.Parallel()
	const web = "--repository=https://127.0.0.1:1/shop/web"
	for want, args := range map[string][]string{
		"say with --repository":                          {"--forge=github", "--token-file=x"},
		"must be one of GitHub, GitLab, Gitea":           {web, "--forge=bitbucket", "--token-file=x"},
		"give one of":                                    {web, "--token-file=x", "--token-env=X"},
		"go together":                                    {web, "--forge=github", "--app-id=1"},
		"say with --forge=github":                        {web, "--webhook-url=https://example.com/hooks/shop/web"},
		"--forge needs":                                  {web, "--forge=github"},
		"leave out --source":                             {web, "--source=shop"},
		"the environment has no SLUICE_TEST_NO_SUCH_VAR": {web, "--token-env=SLUICE_TEST_NO_SUCH_VAR"},
	} {
		var stdout, stderr bytes.Buffer
		if code := run(t.Context(), append([]string{"check"}, args...), &stdout, &stderr); code == exitOK || !strings.Contains(stderr.String(), want) {
			t.Errorf("sluice check %s: want an error with %q, got %d: %s", strings.Join(args, " "), want, code, stderr.String())
		}
	}
}

// TestCheckSource: a source is asked about from here with the credentials of its Secrets, for who
// may read them.
func TestCheckSource(t *testing.T) {
	t.Parallel()
	s, forge := newShop(t), checkedForge(t)
	token := member(t, forge, "sluice", devforge.RoleWrite, nil)
	source := &v1alpha1.ReleaseSource{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "shop"}}
	source.Spec.URL = forge.URL() + "/shop/web.git"
	source.Spec.SecretRef = &v1alpha1.LocalReference{Name: "shop-git"}
	source.Spec.Forge = &v1alpha1.Forge{
		Type: v1alpha1.ForgeGitHub, BaseURL: forge.URL(), Owner: "shop", Repo: "web", SecretRef: v1alpha1.LocalReference{Name: "shop-forge"},
	}
	s.create(source)
	spaces := regexp.MustCompile(` {2,}`)
	check := func(user string) string {
		return spaces.ReplaceAllString(s.as(user, "check", "--source=shop", "--git-allow-http", "--forge-allow-http", "--git-allowed-networks=127.0.0.0/8").stdout, "|")
	}
	const here = "releasesource/shop from here: "
	s.want(check(s.person("admin", "admin", "sluice-viewer")), "failed|"+here+"Secret shop-git|there is none")
	for name, data := range map[string]map[string]string{
		"shop-git": {"username": "x", "password": token}, "shop-forge": {"token": token},
	} {
		s.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}, StringData: data})
	}
	s.want(check(s.namespace+":admin"), "ok|"+here+"repository|branch main can be read", "ok|"+here+"files|releases: 1",
		"ok|"+here+"account|the forge knows us as sluice", "ok|"+here+"right to push branches|granted", "warning|"+here+"protection of branch main|")
	s.want(check(s.viewer()), "warning|"+here+"Secret shop-git|you may not read it")
}
