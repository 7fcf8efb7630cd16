package install

import (
	"fmt"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// clusterResources are those in the controller's rules that no Role can give. Only an order by
// the labels of nodes needs them.
var clusterResources = []string{"nodes"}

// confine turns the roles of the cluster into roles of the namespace. The rules of a role that the
// namespace has as well, the controller's, become rules of that. A binding becomes one of the
// namespace, unless that has one of the name. Rules about logins stay in the cluster's role.
func confine(objects []*unstructured.Unstructured, namespace string) ([]*unstructured.Unstructured, error) {
	var kept []*unstructured.Unstructured
	roles := map[string]*unstructured.Unstructured{}
	bound := namesOf(objects, "RoleBinding")
	for _, object := range objects {
		whole, err := ofCluster(object, namespace)
		if err != nil {
			return nil, fmt.Errorf("name %s: %w", object.GetName(), err)
		}
		if whole {
			kept = append(kept, object)
			continue
		}
		switch object.GetKind() {
		case "ClusterRoleBinding":
			if slices.Contains(bound, object.GetName()) {
				continue
			}
			if err := confineBinding(object, namespace); err != nil {
				return nil, fmt.Errorf("confine %s: %w", object.GetName(), err)
			}
		case "ClusterRole", "Role":
			role, err := confineRole(object, roles[object.GetName()], namespace)
			if err != nil {
				return nil, fmt.Errorf("confine %s %s: %w", object.GetKind(), object.GetName(), err)
			}
			if earlier := roles[object.GetName()]; earlier != nil {
				earlier.Object = role.Object
				continue
			}
			roles[object.GetName()] = role
			object = role
		}
		kept = append(kept, object)
	}
	return kept, nil
}

func namesOf(objects []*unstructured.Unstructured, kind string) []string {
	var names []string
	for _, object := range objects {
		if object.GetKind() == kind {
			names = append(names, object.GetName())
		}
	}
	return names
}

// confineBinding binds the role of the same name in the namespace.
func confineBinding(object *unstructured.Unstructured, namespace string) error {
	object.SetKind("RoleBinding")
	object.SetNamespace(namespace)
	return unstructured.SetNestedField(object.Object, "Role", "roleRef", "kind")
}

// confineRole makes a Role of the rules of one, after those of an earlier one of its name.
func confineRole(object, earlier *unstructured.Unstructured, namespace string) (*unstructured.Unstructured, error) {
	role := &rbacv1.Role{}
	if earlier != nil {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(earlier.Object, role); err != nil {
			return nil, err
		}
	}
	var more rbacv1.ClusterRole // which a Role can be read as
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &more); err != nil {
		return nil, err
	}
	role.APIVersion, role.Kind = rbacv1.SchemeGroupVersion.String(), "Role"
	role.Name, role.Namespace, role.Labels = more.Name, namespace, more.Labels
	delete(role.Labels, "rbac.authorization.k8s.io/aggregate-to-view") // adds to roles of the cluster
	for _, rule := range more.Rules {
		rule.Resources = slices.DeleteFunc(rule.Resources, func(resource string) bool {
			return slices.Contains(clusterResources, resource)
		})
		if len(rule.Resources) > 0 {
			role.Rules = append(role.Rules, rule)
		}
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(role)
	return &unstructured.Unstructured{Object: content}, err
}
