package check

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/install"
	"github.com/sluice-dev/sluice/internal/kinds"
	"github.com/sluice-dev/sluice/internal/subset"
)

// oldest is the first Kubernetes that has what Sluice needs: admission policies that the API server
// judges by itself.
var oldest = version.MustParseGeneric("1.30.0")

// Cluster is a cluster as the checks of Sluice see it.
type Cluster struct {
	Discovery discovery.ServerVersionInterface
	Client    client.Client
	// Controller tells who holds the controller's Lease, and the Lease as namespace/name; both are
	// empty if nobody does.
	Controller func(context.Context, client.Reader, time.Time) (holder, lease string, err error)
	// Namespace in which the controller needs its rights; empty for all.
	Namespace string
}

// Check looks at everything.
func (c *Cluster) Check(ctx context.Context, now time.Time) ([]Finding, error) {
	findings := []Finding{c.server()}
	controller, account := c.controller(ctx, now)
	var releases v1alpha1.BatchReleaseList
	unread := c.Client.List(ctx, &releases, client.InNamespace(c.Namespace)) // another check says so
	follows := slices.ContainsFunc(releases.Items, func(r v1alpha1.BatchRelease) bool { return r.Spec.Follow != "" })
	options := install.Options{Namespace: account, Image: "any", Replicas: 1, CRDs: true, Policy: true, Follow: follows}
	objects, err := install.Objects(options)
	if err != nil {
		return nil, fmt.Errorf("read own manifests: %w", err)
	}
	for _, object := range objects {
		if kindWords[object.GetKind()] != "" {
			findings = append(findings, c.installed(ctx, object))
		}
	}
	findings = append(findings, controller, c.rights(ctx, objects, "system:serviceaccount:"+account+":sluice-controller"))
	if unread == nil {
		findings = append(findings, c.unreleased(ctx, releases.Items)...)
	}
	return findings, nil
}

// unreleased finds workloads whose label says that a release follows them which does not exist:
// their next template waits for ever.
func (c *Cluster) unreleased(ctx context.Context, releases []v1alpha1.BatchRelease) []Finding {
	var findings []Finding
	for _, kind := range kinds.Names() {
		labelled := &metav1.PartialObjectMetadataList{}
		labelled.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind(kind + "List"))
		if err := c.Client.List(ctx, labelled, client.InNamespace(c.Namespace), client.HasLabels{v1alpha1.FollowLabel}); err != nil {
			continue // other checks say what the user may not look at
		}
		for i := range labelled.Items {
			w := &labelled.Items[i]
			name := w.Labels[v1alpha1.FollowLabel]
			if slices.ContainsFunc(releases, func(r v1alpha1.BatchRelease) bool { return r.Namespace == w.Namespace && r.Name == name }) {
				continue
			}
			subject := strings.ToLower(kind) + "/" + w.Name
			findings = append(findings, Finding{
				Warning, subject, fmt.Sprintf("the label %s names BatchRelease %q, which does not exist: a new template waits", v1alpha1.FollowLabel, name),
				fmt.Sprintf("sluice handback %s -n %s --force, or sluice follow %s", subject, w.Namespace, subject),
			})
		}
	}
	return findings
}

// server judges the version of the API server.
func (c *Cluster) server() Finding {
	const subject = "Kubernetes"
	info, err := c.Discovery.ServerVersion()
	if err != nil {
		return Finding{Failed, subject, "the API server does not answer: " + err.Error(), "check the kubeconfig and the network"}
	}
	running, err := version.ParseGeneric(info.GitVersion)
	switch {
	case err != nil:
		return Finding{Warning, subject, fmt.Sprintf("version %q can't be read", info.GitVersion), ""}
	case running.LessThan(oldest):
		return Finding{Failed, subject, "version " + info.GitVersion, "upgrade the cluster to 1.30 or later"}
	}
	return Finding{OK, subject, "version " + info.GitVersion, ""}
}

// installed compares an object with the one that this version of Sluice comes with.
func (c *Cluster) installed(ctx context.Context, want *unstructured.Unstructured) Finding {
	subject, remedy := kindWords[want.GetKind()]+" "+want.GetName(), "sluice install | kubectl apply --server-side -f -"
	if strings.HasPrefix(want.GetKind(), "Mutating") {
		remedy = "sluice install --follow | kubectl apply --server-side -f -"
	}
	have := &unstructured.Unstructured{}
	have.SetGroupVersionKind(want.GroupVersionKind())
	err := c.Client.Get(ctx, client.ObjectKeyFromObject(want), have)
	switch {
	case apierrors.IsForbidden(err):
		return unseen(subject, "get "+strings.ToLower(want.GetKind())+"s")
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		grade := Failed
		if want.GetKind() != "CustomResourceDefinition" {
			grade = Warning
		}
		return Finding{grade, subject, "not installed", remedy}
	case err != nil:
		return Finding{Failed, subject, err.Error(), ""}
	case !subset.Of(want.Object["spec"], have.Object["spec"]):
		return Finding{Warning, subject, "not that of this version of sluice, or for a controller in another namespace", remedy}
	}
	return Finding{OK, subject, "installed", ""}
}

// kindWords has the words of people for the kinds that are compared.
var kindWords = map[string]string{
	"CustomResourceDefinition":         "kind",
	"MutatingAdmissionPolicy":          "policy",
	"MutatingAdmissionPolicyBinding":   "policy binding",
	"ValidatingAdmissionPolicy":        "policy",
	"ValidatingAdmissionPolicyBinding": "policy binding",
}

// unseen returns what the user may not look at.
func unseen(subject, right string) Finding {
	return Finding{Warning, subject, "you may not look at it", "ask somebody with the right to " + right + " to run this"}
}

// controller looks for the one that acts, and the namespace that it runs in; the usual one if none
// is found.
func (c *Cluster) controller(ctx context.Context, now time.Time) (Finding, string) {
	const subject = "controller"
	holder, lease, err := c.Controller(ctx, c.Client, now)
	namespace, _, _ := strings.Cut(lease, "/")
	switch {
	case apierrors.IsForbidden(err):
		return unseen(subject, "list leases"), install.Namespace
	case err != nil:
		return Finding{Failed, subject, err.Error(), ""}, install.Namespace
	case holder == "":
		return Finding{Failed, subject, "nobody holds its Lease: none runs, or one without leader election",
			"see to its pods: kubectl -n " + install.Namespace + " get pods; without any, sluice install"}, install.Namespace
	}
	return Finding{OK, subject, holder + " holds the Lease " + lease, ""}, namespace
}

// rights asks whether an account has the rights that the installation gives the controller.
func (c *Cluster) rights(ctx context.Context, objects []*unstructured.Unstructured, account string) Finding {
	subject := "rights of " + account
	var missing []string
	for _, object := range objects {
		if object.GetKind() != "ClusterRole" || object.GetName() != "sluice-controller" {
			continue
		}
		var role rbacv1.ClusterRole
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &role); err != nil {
			return Finding{Failed, subject, err.Error(), ""}
		}
		for _, asked := range attributes(role.Rules, c.Namespace) {
			allowed, err := c.allowed(ctx, account, asked)
			switch {
			case apierrors.IsForbidden(err):
				return unseen(subject, "create subjectaccessreviews")
			case err != nil:
				return Finding{Failed, subject, err.Error(), ""}
			case !allowed:
				missing = append(missing, strings.TrimSuffix(asked.Verb+" "+asked.Resource+"/"+asked.Subresource, "/"))
			}
		}
	}
	if len(missing) > 0 {
		return Finding{Failed, subject, "lacks " + strings.Join(missing, ", "), "kubectl apply --server-side -k config/rbac, or what sluice install prints"}
	}
	return Finding{OK, subject, "complete", ""}
}

// attributes returns all that rules allow, one by one.
func attributes(rules []rbacv1.PolicyRule, namespace string) []authorizationv1.ResourceAttributes {
	var all []authorizationv1.ResourceAttributes
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				name, subresource, _ := strings.Cut(resource, "/")
				for _, verb := range rule.Verbs {
					all = append(all, authorizationv1.ResourceAttributes{
						Namespace: namespace, Verb: verb, Group: group, Resource: name, Subresource: subresource,
					})
				}
			}
		}
	}
	return all
}

func (c *Cluster) allowed(ctx context.Context, account string, asked authorizationv1.ResourceAttributes) (bool, error) {
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: account, Groups: []string{"system:serviceaccounts", "system:authenticated"}, ResourceAttributes: &asked,
	}}
	err := c.Client.Create(ctx, review)
	return review.Status.Allowed, err
}
