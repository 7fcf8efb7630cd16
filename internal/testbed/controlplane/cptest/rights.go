package cptest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// AwaitRights waits until the API server lets a user do what the roles that are bound to them say:
// it hears of roles and bindings a moment after they are written, and refuses requests until then.
// The configuration is the administrator's.
func AwaitRights(tb testing.TB, cfg *rest.Config, user string) {
	tb.Helper()
	clients, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		tb.Fatalf("make client: %v", err)
	}
	Eventually(tb, time.Minute, func() error { return heard(tb.Context(), clients, user) })
}

// heard says what a user has no right to yet.
func heard(ctx context.Context, clients kubernetes.Interface, user string) error {
	everywhere, err := clients.RbacV1().ClusterRoleBindings().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list ClusterRoleBindings: %w", err)
	}
	bindings, err := clients.RbacV1().RoleBindings("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list RoleBindings: %w", err)
	}
	for _, one := range everywhere.Items {
		bindings.Items = append(bindings.Items, rbacv1.RoleBinding{RoleRef: one.RoleRef, Subjects: one.Subjects})
	}
	for _, one := range bindings.Items {
		if !slices.ContainsFunc(one.Subjects, func(s rbacv1.Subject) bool { return nameOf(s) == user }) {
			continue
		}
		rules, err := rulesOf(ctx, clients, one.Namespace, one.RoleRef)
		if err != nil && !apierrors.IsNotFound(err) { // without its role a binding gives no right
			return fmt.Errorf("read %s %s: %w", one.RoleRef.Kind, one.RoleRef.Name, err)
		}
		for i := range rules {
			if err := allowed(ctx, clients, user, one.Namespace, &rules[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// nameOf returns the name of the user that a subject is.
func nameOf(s rbacv1.Subject) string {
	switch s.Kind {
	case rbacv1.UserKind:
		return s.Name
	case rbacv1.ServiceAccountKind:
		return "system:serviceaccount:" + s.Namespace + ":" + s.Name
	default:
		return ""
	}
}

func rulesOf(ctx context.Context, clients kubernetes.Interface, namespace string, ref rbacv1.RoleRef) ([]rbacv1.PolicyRule, error) {
	if ref.Kind == "Role" {
		role, err := clients.RbacV1().Roles(namespace).Get(ctx, ref.Name, metav1.GetOptions{})
		return role.Rules, err
	}
	role, err := clients.RbacV1().ClusterRoles().Get(ctx, ref.Name, metav1.GetOptions{})
	return role.Rules, err
}

// allowed asks for the last that a rule says, as another rule may say the first, too.
func allowed(ctx context.Context, clients kubernetes.Interface, user, namespace string, rule *rbacv1.PolicyRule) error {
	last := func(of []string) string { return append([]string{""}, of...)[len(of)] }
	resource, subresource, _ := strings.Cut(last(rule.Resources), "/")
	if resource == "" {
		return nil // it is about paths
	}
	what := &authorizationv1.ResourceAttributes{
		Namespace: namespace, Verb: last(rule.Verbs), Group: last(rule.APIGroups), Resource: resource, Subresource: subresource, Name: last(rule.ResourceNames),
	}
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: what}}
	review, err := clients.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("review access of %s: %w", user, err)
	}
	if !review.Status.Allowed {
		return fmt.Errorf("want the API server to let %s %s %s.%s in namespace %q", user, last(rule.Verbs), last(rule.Resources), last(rule.APIGroups), namespace)
	}
	return nil
}
