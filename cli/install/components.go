package install

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// The folders of config that only options add.
const (
	followFolder        = "follow"
	trafficFolder       = "components/traffic"
	jobFolder           = "components/job"
	configFolder        = "components/config"
	configSecretsFolder = "components/config-secrets"
	noticesFolder       = "components/notices"
	dashboardFolder     = "components/dashboard"
	unconstrainedFolder = "components/dashboard-unconstrained"
)

// dashboardName is the Deployment of the dashboard.
const dashboardName = "sluice-dashboard"

// clusterRoles of the dashboard are about tokens, users and groups, which belong to the cluster.
var clusterRoles = []string{"sluice-dashboard-login", "sluice-dashboard-unconstrained"}

// chosen returns the folders to install.
func (o Options) chosen() []string {
	all := slices.Clone(folders)
	for _, component := range []struct {
		chosen bool
		folder string
	}{
		{o.Follow, followFolder}, {o.Traffic, trafficFolder}, {o.Job, jobFolder}, {o.Notices, noticesFolder},
		{o.ConfigMaps, configFolder}, {o.Secrets, configSecretsFolder},
		{o.Dashboard, dashboardFolder}, {o.DashboardUnconstrained, unconstrainedFolder},
	} {
		if component.chosen {
			all = append(all, component.folder)
		}
	}
	return all
}

// fill puts what was chosen into a Deployment.
func (o Options) fill(object *unstructured.Unstructured) error {
	path := []string{"spec", "template", "spec", "containers"}
	containers, _, err := unstructured.NestedSlice(object.Object, path...)
	if err != nil {
		return err
	}
	container := containers[0].(map[string]any)
	container["image"] = o.Image
	args, _, err := unstructured.NestedStringSlice(container, "args")
	if err != nil {
		return err
	}
	if o.Namespaced {
		args = append(args, "--namespaces="+o.Namespace)
	}
	if object.GetName() == dashboardName {
		args = append(args, o.DashboardArgs...)
		if err := o.mountSecrets(object, container); err != nil {
			return err
		}
	} else if args, err = o.fillController(object, container, args); err != nil {
		return err
	}
	if err := unstructured.SetNestedStringSlice(container, args, "args"); err != nil {
		return err
	}
	return unstructured.SetNestedSlice(object.Object, containers, path...)
}

// fillController puts in what only the controller has, and returns its arguments. Notices come as
// the patches of their component say, which a test compares.
func (o Options) fillController(object *unstructured.Unstructured, container map[string]any, args []string) ([]string, error) {
	if o.Traffic {
		args = append(args, "--traffic")
	}
	if o.Notices {
		args = append(args, "--notices-config=/etc/sluice/notices/notices.yaml")
		if err := mount(object, container, "notices", "sluice-notices", "/etc/sluice/notices"); err != nil {
			return nil, err
		}
	}
	return append(args, o.Args...), unstructured.SetNestedField(object.Object, int64(o.Replicas), "spec", "replicas")
}

// SecretsFolder has a folder for each Secret that the dashboard reads.
const SecretsFolder = "/etc/sluice/secrets" //nolint:gosec // a folder

// mountSecrets mounts the Secrets of the dashboard. Volumes have numbers for names, since a
// Secret's name can be longer.
func (o Options) mountSecrets(object *unstructured.Unstructured, container map[string]any) error {
	for i, name := range o.DashboardSecrets {
		if err := mount(object, container, fmt.Sprintf("secret-%d", i), name, SecretsFolder+"/"+name); err != nil {
			return err
		}
	}
	return nil
}

// mount mounts a Secret into a container of a Deployment.
func mount(object *unstructured.Unstructured, container map[string]any, volume, secret, folder string) error {
	mounts, _, err := unstructured.NestedSlice(container, "volumeMounts")
	if err != nil {
		return err
	}
	container["volumeMounts"] = append(mounts, map[string]any{"name": volume, "mountPath": folder, "readOnly": true})
	path := []string{"spec", "template", "spec", "volumes"}
	volumes, _, err := unstructured.NestedSlice(object.Object, path...)
	if err != nil {
		return err
	}
	volumes = append(volumes, map[string]any{"name": volume, "secret": map[string]any{"secretName": secret}})
	return unstructured.SetNestedSlice(object.Object, volumes, path...)
}

// ofCluster gives a role of the cluster, or its binding, a name of its own: other namespaces may
// have a dashboard too. It reports whether the object is one.
func ofCluster(object *unstructured.Unstructured, namespace string) (bool, error) {
	if !strings.HasPrefix(object.GetKind(), "ClusterRole") || !slices.Contains(clusterRoles, object.GetName()) {
		return false, nil
	}
	name := object.GetName() + "-" + namespace
	object.SetName(name)
	if object.GetKind() != "ClusterRoleBinding" {
		return true, nil
	}
	return true, unstructured.SetNestedField(object.Object, name, "roleRef", "name")
}
