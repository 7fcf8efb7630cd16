package gitsync_test

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/gitsync"
	"github.com/sluice-dev/sluice/gitsync/spec"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// password is the content of a Secret, which no object but its copy may have.
const password = "correct-horse-battery"

// configured returns a release with a ConfigMap and a Secret.
func configured(level string) map[string]string {
	return map[string]string{
		"web/release.yaml": releaseText("web", steps) + "  config: [{configMap: settings}, {secret: login}]\n",
		"web/deploy.yaml": strings.Replace(deploymentText("web", "web:1"), `image: "web:1"`,
			`image: "web:1", envFrom: [{configMapRef: {name: settings}}, {secretRef: {name: login}}]`, 1),
		"web/settings.yaml": fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {LEVEL: %q}\n", level),
		"web/login.yaml":    "apiVersion: v1\nkind: Secret\nmetadata: {name: login}\nstringData: {PASSWORD: " + password + "}\n",
	}
}

// copiesIn returns the copies that the files of a repository come to: the ConfigMap's, and the
// Secret's.
func (w *world) copiesIn(files map[string]string) (settings, login *spec.Copy) {
	w.Helper()
	tree := fstest.MapFS{}
	for name, text := range files {
		tree[name] = &fstest.MapFile{Data: []byte(text)}
	}
	content, err := spec.NewReader(spec.Options{Namespace: w.namespace}).Read(tree, ".")
	if err != nil || len(content.Releases) != 1 {
		w.Fatalf("read %v, %v", content, err)
	}
	return content.Releases[0].Copies[0], content.Releases[0].Copies[1]
}

// copied reads the copies in the namespace.
func (w *world) copied() (settings []corev1.ConfigMap, login []corev1.Secret) {
	w.Helper()
	var configMaps corev1.ConfigMapList
	var secrets corev1.SecretList
	for _, list := range []client.ObjectList{&configMaps, &secrets} {
		if err := w.List(w.Context(), list, client.InNamespace(w.namespace), client.MatchingLabels{v1alpha1.ReleaseLabel: "web"}); err != nil {
			w.Fatal(err)
		}
	}
	return configMaps.Items, secrets.Items
}

// grantConfig lets the service account releaser copy ConfigMaps and Secrets.
func (w *world) grantConfig() {
	w.Helper()
	named := metav1.ObjectMeta{Namespace: w.namespace, Name: "config"}
	w.create(
		&rbacv1.Role{ObjectMeta: named, Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{""}, Resources: []string{"configmaps", "secrets"}, Verbs: []string{"create", "delete", "get", "list", "patch"},
		}}},
		&rbacv1.RoleBinding{
			ObjectMeta: named, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "config"},
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: w.namespace, Name: "releaser"}},
		},
	)
}

// wantNoPassword wants no object that people read to have the content of the Secret.
func (w *world) wantNoPassword() {
	w.Helper()
	for _, list := range []client.ObjectList{&v1alpha1.BatchReleaseList{}, &v1alpha1.ReleaseSourceList{}, &eventsv1.EventList{}, &corev1.ConfigMapList{}} {
		if err := w.List(w.Context(), list, client.InNamespace(w.namespace)); err != nil {
			w.Fatal(err)
		}
		text, err := yaml.Marshal(list)
		if err != nil {
			w.Fatal(err)
		}
		for _, secret := range []string{password, base64.StdEncoding.EncodeToString([]byte(password))} {
			if strings.Contains(string(text), secret) {
				w.Errorf("a %T has the password:\n%s", list, text)
			}
		}
	}
}

// TestConfigIsCopiedAsTheServiceAccount: without the right nothing is written. With it the copies
// come before the template, belong to the release and the workload, and no other object has their
// content.
func TestConfigIsCopiedAsTheServiceAccount(t *testing.T) {
	w := newWorld(t)
	w.push(configured("one"))
	w.create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "releaser"}})
	w.grant("releaser")
	w.controller(gitsync.Options{})
	w.source(func(s *v1alpha1.ReleaseSource) { s.Spec.ServiceAccountName = "releaser" })
	source := w.sync("shop")
	w.wantReady(source, v1alpha1.ReasonApplyFailed, "system:serviceaccount:"+w.namespace+":releaser", "cannot create")
	w.wantErrors(source, "web/release.yaml:1: copy spec.config of BatchRelease web: configmaps is forbidden")
	if w.deployment("web") != nil || w.release("web") != nil {
		t.Error("a template was written before its copies")
	}

	w.grantConfig()
	source = w.syncUntil(func(s *v1alpha1.ReleaseSource) error {
		if len(s.Status.Errors) > 0 {
			return &problem{s.Status.Errors[0].Message}
		}
		return nil
	})
	w.wantReady(source, v1alpha1.ReasonSynced)
	settings, login := w.copied()
	wantSettings, wantLogin := w.copiesIn(configured("one"))
	if len(settings) != 1 || settings[0].Name != wantSettings.Name || settings[0].Data["LEVEL"] != "one" || !*settings[0].Immutable {
		t.Errorf("want the copy %s, got %v", wantSettings.Name, settings)
	}
	if len(login) != 1 || login[0].Name != wantLogin.Name || string(login[0].Data["PASSWORD"]) != password || !*login[0].Immutable {
		t.Errorf("want the copy %s, got %d", wantLogin.Name, len(login))
	}
	for _, owners := range [][]metav1.OwnerReference{settings[0].OwnerReferences, login[0].OwnerReferences} {
		if len(owners) != 2 || owners[0].UID != w.release("web").UID || owners[1].UID != w.deployment("web").UID {
			t.Errorf("want the copy to belong to the release and the workload, got %v", owners)
		}
	}
	from := w.deployment("web").Spec.Template.Spec.Containers[0].EnvFrom
	if from[0].ConfigMapRef.Name != wantSettings.Name || from[1].SecretRef.Name != wantLogin.Name {
		t.Errorf("want the Deployment to name the copies, got %v", from)
	}
	w.wantNoPassword()

	before := len(w.requests.list())
	w.wantReady(w.sync("shop"), v1alpha1.ReasonSynced)
	for _, request := range w.requests.list()[before:] {
		if strings.HasPrefix(request, "POST") || strings.HasPrefix(request, "DELETE") || strings.HasPrefix(request, "PATCH") && strings.Contains(request, "web") {
			t.Errorf("at rest there is a write: %s", request)
		}
	}
}

// TestCopyIsNotOverwritten: an object that somebody made under the name of a copy is left alone,
// and the release is not applied.
func TestCopyIsNotOverwritten(t *testing.T) {
	for name, change := range map[string]func(*corev1.ConfigMap){
		"OtherContent": func(c *corev1.ConfigMap) { c.Data["LEVEL"] = "forged" },
		"NotImmutable": func(c *corev1.ConfigMap) { c.Immutable = nil },
		"NoLabel":      func(c *corev1.ConfigMap) { c.Labels = nil },
		"OtherRelease": func(c *corev1.ConfigMap) { c.Labels[v1alpha1.ReleaseLabel] = "other" },
		"MoreContent":  func(c *corev1.ConfigMap) { c.BinaryData = map[string][]byte{"MORE": []byte("x")} },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			files := configured("one")
			w.push(files)
			wanted, _ := w.copiesIn(files)
			text, err := yaml.Marshal(wanted.Object())
			made := &corev1.ConfigMap{}
			if err != nil || yaml.Unmarshal(text, made) != nil {
				t.Fatal(err)
			}
			change(made)
			w.create(made)
			w.controller(gitsync.Options{})
			w.source(nil)
			source := w.sync("shop")
			w.wantReady(source, v1alpha1.ReasonApplyFailed)
			w.wantErrors(source, "web/release.yaml:1: exists, and is not the copy of settings that Sluice makes under this name: delete it, or rename it")
			if w.release("web") != nil || w.deployment("web") != nil {
				t.Error("the release is applied, with content that is not in Git")
			}
			found := &corev1.ConfigMap{}
			if err := w.Get(t.Context(), client.ObjectKeyFromObject(made), found); err != nil || found.ResourceVersion != made.ResourceVersion {
				t.Errorf("the object was written: %v, %v", found, err)
			}
			if err := w.Delete(t.Context(), found); err != nil {
				t.Fatal(err)
			}
			w.wantReady(w.sync("shop"), v1alpha1.ReasonSynced)
		})
	}
}

// TestDeletedCopyComesBack: with a sync that somebody asks for, and with another process. One that
// the workload still names stays, and one that nothing names goes.
func TestDeletedCopyComesBack(t *testing.T) {
	w := newWorld(t)
	w.push(configured("one"))
	stop := w.controller(gitsync.Options{})
	w.source(nil)
	w.wantReady(w.sync("shop"), v1alpha1.ReasonSynced)
	levels := func() []string {
		found := map[string]bool{}
		settings, _ := w.copied()
		for _, c := range settings {
			found[c.Data["LEVEL"]] = true
		}
		return slices.Sorted(maps.Keys(found))
	}
	want := func(wanted ...string) {
		t.Helper()
		cptest.Eventually(t, soon, func() error {
			w.sync("shop")
			if got := levels(); !slices.Equal(got, wanted) {
				return fmt.Errorf("want copies of %v, got %v", wanted, got)
			}
			return nil
		})
	}
	w.push(configured("two"))
	want("one", "two") // the Deployment has the first one, as nobody releases the second
	w.push(configured("three"))
	want("one", "three")
	settings, _ := w.copied()
	for i := range settings {
		if err := w.Delete(t.Context(), &settings[i]); err != nil {
			t.Fatal(err)
		}
	}
	want("three") // what Git no longer has can't come back
	stop()
	settings, _ = w.copied()
	if err := w.Delete(t.Context(), &settings[0]); err != nil {
		t.Fatal(err)
	}
	w.controller(gitsync.Options{})
	want("three")
}
