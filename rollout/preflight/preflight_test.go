package preflight

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// ten returns a release of ten pods with one to spare and none to miss, whose pods ask for cpu.
func ten(change ...func(*Release)) Release {
	r := Release{
		Kind: "Deployment", Workload: "web", Replicas: 10, Surge: 1, NewSet: true,
		Running: asking("100m"), Released: asking("100m"),
	}
	for _, c := range change {
		c(&r)
	}
	return r
}

func asking(cpu string) *corev1.PodTemplateSpec {
	requests := corev1.ResourceList{}
	if cpu != "" {
		requests[corev1.ResourceCPU] = resource.MustParse(cpu)
	}
	return &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Resources: corev1.ResourceRequirements{Requests: requests}}}},
	}
}

func kind(kind string) Release { return ten(func(r *Release) { r.Kind = kind }) }

func (r Release) limits(surge, unavailable int32) Release {
	r.Surge, r.Unavailable = surge, unavailable
	return r
}

func quota(name corev1.ResourceName, hard, used string, scopes ...corev1.ResourceQuotaScope) Namespace {
	return Namespace{Quotas: []corev1.ResourceQuota{{
		ObjectMeta: metav1.ObjectMeta{Name: "team"},
		Spec:       corev1.ResourceQuotaSpec{Scopes: scopes},
		Status: corev1.ResourceQuotaStatus{
			Hard: corev1.ResourceList{name: resource.MustParse(hard)},
			Used: corev1.ResourceList{name: resource.MustParse(used)},
		},
	}}}
}

func TestQuotas(t *testing.T) {
	t.Parallel()
	asks := func(cpu string) func(*Release) { return func(r *Release) { r.Released = asking(cpu) } }
	tests := map[string]struct {
		release   Release
		namespace Namespace
		want      []string
	}{
		"room for one more pod is enough":    {ten(), quota("pods", "11", "10"), nil},
		"none, but an old one may make room": {ten().limits(0, 1), quota("pods", "10", "10"), nil},
		"none, and none may be missing": {
			ten(), quota("pods", "10", "10"),
			[]string{"ResourceQuota team (pods: 10 of 10 used) leaves no room for a first pod, which needs 1, while at most 0 may be unavailable"},
		},
		"as objects": {
			ten(), quota("count/pods", "10", "10"),
			[]string{"ResourceQuota team (count/pods: 10 of 10 used) leaves no room for a first pod, which needs 1, while at most 0 may be unavailable"},
		},
		"a workload of no pods needs none": {ten(func(r *Release) { r.Replicas = 0 }), quota("pods", "0", "0"), nil},
		"a ReplicaSet has to be made": {
			ten(), quota("count/replicasets.apps", "3", "3"),
			[]string{"ResourceQuota team (count/replicasets.apps: 3 of 3 used) leaves no room for a ReplicaSet"},
		},
		"a StatefulSet needs none": {
			ten(func(r *Release) { r.Kind = "StatefulSet" }).limits(0, 1), quota("count/replicasets.apps", "3", "3"), nil,
		},
		"nor more pods than it has, for they are replaced where they are": {
			ten(func(r *Release) { r.Kind = "StatefulSet" }).limits(0, 1), quota("pods", "10", "10"), nil,
		},
		"it is there already": {ten(func(r *Release) { r.NewSet = false }), quota("count/replicasets.apps", "3", "3"), nil},
		"a pod that wants more than one old pod leaves": {
			ten(asks("2")).limits(0, 1), quota("requests.cpu", "2", "1"),
			[]string{"ResourceQuota team (requests.cpu: 1 of 2 used) leaves no room for a first pod, which needs 2, while at most 1 may be unavailable"},
		},
		"room for some of them is found out before they are stuck": {
			ten(asks("200m")), quota("cpu", "1500m", "1"),
			[]string{"ResourceQuota team (cpu: 1 of 1500m used) leaves no room for 10 pods of the new template, which need 2"},
		},
		"pods that want less":        {ten(asks("50m")), quota("cpu", "1100m", "1050m"), nil},
		"what others may run is not": {ten(), quota("services", "0", "0"), nil},
		"what is counted must be said": {
			ten(), quota("limits.memory", "10Gi", "0"),
			[]string{"ResourceQuota team (limits.memory: 0 of 10Gi used) takes no pod without it: set it in every container"},
		},
		"or be given by a LimitRange": {ten(), withDefault(quota("limits.memory", "10Gi", "0"), "1Gi"), nil},
		"whose amount counts": {
			ten(), withDefault(quota("limits.memory", "10Gi", "0"), "11Gi"),
			[]string{"ResourceQuota team (limits.memory: 0 of 10Gi used) leaves no room for a first pod, which needs 11Gi, while at most 0 may be unavailable"},
		},
		"a pod that says it as a whole, without limits": {ten(whole("200m", "")), quota("limits.cpu", "40", "0"), nil},
		"or says something of the CPU alone":            {ten(whole("200m", "400m")), quota("requests.memory", "8Gi", "0"), nil},
		"a limit as a whole is a request": {
			ten(whole("", "400m")), quota("requests.cpu", "300m", "0"),
			[]string{"ResourceQuota team (requests.cpu: 0 of 300m used) leaves no room for a first pod, which needs 400m, while at most 0 may be unavailable"},
		},
		"of pods that end":             {ten(), quota("pods", "0", "0", corev1.ResourceQuotaScopeTerminating), nil},
		"of pods that ask for nothing": {ten(), quota("pods", "0", "0", corev1.ResourceQuotaScopeBestEffort), nil},
		"of pods that ask for something": {
			ten(), quota("pods", "0", "0", corev1.ResourceQuotaScopeNotBestEffort),
			[]string{"ResourceQuota team (pods: 0 of 0 used) leaves no room for a first pod, which needs 1, while at most 0 may be unavailable"},
		},
		"old pods that it does not count leave it no room": {
			ten(func(r *Release) { r.Running = asking("") }).limits(0, 1), quota("pods", "5", "5", corev1.ResourceQuotaScopeNotBestEffort),
			[]string{"ResourceQuota team (pods: 5 of 5 used) leaves no room for a first pod, which needs 1, while at most 1 may be unavailable"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, Check(test.release, test.namespace).WillNotFit); diff != "" {
				t.Errorf("what will not fit (-want +got):\n%s", diff)
			}
		})
	}
}

// whole has the pods state CPU for all of their containers.
func whole(request, limit string) func(*Release) {
	list := func(cpu string) corev1.ResourceList {
		if cpu == "" {
			return nil
		}
		return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
	}
	return func(r *Release) {
		r.Released = asking("")
		r.Released.Spec.Resources = &corev1.ResourceRequirements{Requests: list(request), Limits: list(limit)}
	}
}

func withDefault(n Namespace, memory string) Namespace {
	n.Limits = []corev1.LimitRange{{Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{
		Type: corev1.LimitTypeContainer, Default: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(memory)},
	}}}}}
	return n
}

func TestPriorityClassOfQuota(t *testing.T) {
	t.Parallel()
	tests := map[corev1.ScopeSelectorOperator]bool{
		corev1.ScopeSelectorOpIn: true, corev1.ScopeSelectorOpNotIn: false,
		corev1.ScopeSelectorOpExists: true, corev1.ScopeSelectorOpDoesNotExist: false,
	}
	for operator, want := range tests {
		requirement := corev1.ScopedResourceSelectorRequirement{ScopeName: corev1.ResourceQuotaScopePriorityClass, Operator: operator, Values: []string{"high"}}
		q := &corev1.ResourceQuota{Spec: corev1.ResourceQuotaSpec{ScopeSelector: &corev1.ScopeSelector{
			MatchExpressions: []corev1.ScopedResourceSelectorRequirement{requirement},
		}}}
		if have := covers(q, &corev1.PodSpec{PriorityClassName: "high"}); have != want {
			t.Errorf("%s high covers a pod of the class: %t, want %t", operator, have, want)
		}
	}
}

func TestAmountOfPod(t *testing.T) {
	t.Parallel()
	always := corev1.ContainerRestartPolicyAlways
	container := func(cpu string) corev1.Container { return asking(cpu).Spec.Containers[0] }
	sidecar := container("100m")
	sidecar.RestartPolicy = &always
	whole := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("3")}
	tests := map[string]struct {
		pod  corev1.PodSpec
		want string
	}{
		"containers run at once": {corev1.PodSpec{Containers: []corev1.Container{container("100m"), container("200m")}}, "300m"},
		"an init container before them": {
			corev1.PodSpec{InitContainers: []corev1.Container{container("1")}, Containers: []corev1.Container{container("100m")}}, "1",
		},
		"a sidecar beside them": {
			corev1.PodSpec{InitContainers: []corev1.Container{sidecar}, Containers: []corev1.Container{container("100m")}}, "200m",
		},
		"an init container beside a sidecar": {
			corev1.PodSpec{InitContainers: []corev1.Container{sidecar, container("1")}, Containers: []corev1.Container{container("100m")}}, "1100m",
		},
		"what the pod says as a whole": {
			corev1.PodSpec{Resources: &corev1.ResourceRequirements{Requests: whole}, Containers: []corev1.Container{container("100m")}}, "3",
		},
		"with overhead": {
			corev1.PodSpec{Overhead: whole, Containers: []corev1.Container{container("100m")}}, "3100m",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			have := defaultsOf(nil).amount(&test.pod, corev1.ResourceRequestsCPU)
			if have.Cmp(resource.MustParse(test.want)) != 0 {
				t.Errorf("a pod takes %s, want %s", have.String(), test.want)
			}
		})
	}
}

func shared(r Release) Release {
	r.Shared = true
	return r
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	budget := func(spec policyv1.PodDisruptionBudgetSpec, app string) Namespace {
		spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
		return Namespace{Budgets: []policyv1.PodDisruptionBudget{{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: spec}}}
	}
	scaler := func(kind, name string, least, most int32) Namespace {
		return Namespace{Autoscalers: []autoscalingv2.HorizontalPodAutoscaler{{
			ObjectMeta: metav1.ObjectMeta{Name: "web"},
			Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
				ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{Kind: kind, Name: name},
				MinReplicas:    &least, MaxReplicas: most,
			},
		}}}
	}
	half, three := intstr.FromString("50%"), intstr.FromInt32(3)
	tests := map[string]struct {
		release   Release
		namespace Namespace
		want      []string
	}{
		"nothing": {ten().limits(1, 2), Namespace{}, nil},
		"a budget that lets fewer be missing": {
			ten().limits(0, 4), budget(policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &three}, "web"),
			[]string{"PodDisruptionBudget web lets 3 of 10 pods be missing, the release 4: lower maxUnavailable if it is to keep to that; it counts the pods of both versions together"},
		},
		"a budget in percent that stay": {
			ten().limits(0, 6), budget(policyv1.PodDisruptionBudgetSpec{MinAvailable: &half}, "web"),
			[]string{"PodDisruptionBudget web lets 5 of 10 pods be missing, the release 6: lower maxUnavailable if it is to keep to that; it counts the pods of both versions together"},
		},
		"a budget of two versions that both have all pods": {
			shared(ten().limits(10, 0)), budget(policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &three}, "web"),
			[]string{"PodDisruptionBudget web counts the pods of both versions together: while there are 20, drains may evict 13, and so all 10 that serve; " +
				"set its minAvailable to 17 until the release has ended, or drain no nodes"},
		},
		"... in pods that stay": {
			shared(ten().limits(10, 0)), budget(policyv1.PodDisruptionBudgetSpec{MinAvailable: new(intstr.FromInt32(8))}, "web"),
			[]string{"PodDisruptionBudget web counts the pods of both versions together: while there are 20, drains may evict 12, and so all 10 that serve; " +
				"set its minAvailable to 18 until the release has ended, or drain no nodes"},
		},
		"... where the one that serves keeps some": {shared(ten().limits(5, 0)), budget(policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &three}, "web"), nil},
		"... without shared requests":              {ten().limits(10, 0), budget(policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &three}, "web"), nil},
		"a budget that lets as many":               {ten().limits(0, 3), budget(policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &three}, "web"), nil},
		"a budget of others":                       {ten().limits(0, 4), budget(policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &three}, "db"), nil},
		"an autoscaler within bounds":              {ten(), scaler("Deployment", "web", 2, 10), nil},
		"an autoscaler of others":                  {ten(), scaler("Deployment", "db", 2, 5), nil},
		"an autoscaler that wants fewer": {
			ten(), scaler("Deployment", "web", 2, 5),
			[]string{"HorizontalPodAutoscaler web wants 2 to 5 pods, the Deployment has 10: it will be scaled in mid-release"},
		},
		"a budget of a StatefulSet": {
			kind("StatefulSet").limits(0, 4), budget(policyv1.PodDisruptionBudgetSpec{MinAvailable: new(intstr.FromInt32(7))}, "web"),
			[]string{"PodDisruptionBudget web lets 3 of 10 pods be missing, the release 4: lower maxUnavailable if it is to keep to that; it counts the pods of both versions together"},
		},
		"a budget of a DaemonSet": {
			kind("DaemonSet").limits(0, 4), budget(policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &three}, "web"),
			[]string{"PodDisruptionBudget web lets 3 of 10 pods be missing, the release 4: lower maxUnavailable if it is to keep to that; it counts the pods of both versions together"},
		},
		"an autoscaler of a StatefulSet": {
			kind("StatefulSet"), scaler("StatefulSet", "web", 2, 5),
			[]string{"HorizontalPodAutoscaler web wants 2 to 5 pods, the StatefulSet has 10: it will be scaled in mid-release"},
		},
		"an autoscaler of a Deployment of the same name": {kind("StatefulSet"), scaler("Deployment", "web", 2, 5), nil},
		"a break-glass annotation": {
			func() Release { r := kind("StatefulSet"); r.BreakGlass = "INC-42:\nlong ago"; return r }(), Namespace{},
			[]string{"StatefulSet web has the annotation rollouts.sluice.dev/break-glass (INC-42: long ago), so the admission policies do not protect it: " +
				"if this is not an emergency, 'kubectl annotate statefulset web rollouts.sluice.dev/break-glass-' removes it"},
		},
		"all may be missing": {ten().limits(0, 10), Namespace{}, []string{"maxUnavailable lets all 10 pods be missing at once"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := Check(test.release, test.namespace)
			if diff := cmp.Diff(test.want, found.Warnings); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
			if len(found.WillNotFit) > 0 {
				t.Errorf("it is said not to fit: %q", found.WillNotFit)
			}
		})
	}
}

// TestOtherNodes: the native controller of a DaemonSet goes by the nodes of the new template at
// once.
func TestOtherNodes(t *testing.T) {
	t.Parallel()
	on := func(change func(*corev1.PodSpec)) Release {
		r := kind("DaemonSet").limits(0, 1)
		r.Running, r.Released = asking("100m"), asking("100m")
		change(&r.Released.Spec)
		return r
	}
	ssd := func(s *corev1.PodSpec) { s.NodeSelector = map[string]string{"disk": "ssd"} }
	deployment := ten(func(r *Release) { ssd(&r.Released.Spec) })
	comesToAny := on(ssd)
	comesToAny.Replicas = 0
	tests := map[string]struct {
		release Release
		want    []string
	}{
		"nodeSelector":              {on(ssd), []string{OtherNodes}},
		"a DaemonSet without pods":  {comesToAny, []string{OtherNodes}},
		"affinity":                  {on(func(s *corev1.PodSpec) { s.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{}} }), []string{OtherNodes}},
		"tolerations":               {on(func(s *corev1.PodSpec) { s.Tolerations = []corev1.Toleration{{Key: "gpu"}} }), []string{OtherNodes}},
		"nodeName":                  {on(func(s *corev1.PodSpec) { s.NodeName = "a" }), []string{OtherNodes}},
		"written in another way":    {on(func(s *corev1.PodSpec) { s.NodeSelector, s.Tolerations = map[string]string{}, []corev1.Toleration{} }), nil},
		"pods of a Deployment stay": {deployment, nil},
	}
	for name, test := range tests {
		if diff := cmp.Diff(test.want, Check(test.release, Namespace{}).Warnings); diff != "" {
			t.Errorf("%s: warnings (-want +got):\n%s", name, diff)
		}
	}
}
