package rollout

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover/deployment"
	"github.com/sluice-dev/sluice/rollout/plan"
	"github.com/sluice-dev/sluice/rollout/traffic"
	"github.com/sluice-dev/sluice/rollout/turns"
)

// passing is an API server with a Deployment and Services. Its admission passes on the same answer,
// about another object, at each write.
type passing struct {
	client.Client

	answer   error
	services map[string]*corev1.Service
}

func (p *passing) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	switch into := into.(type) {
	case *unstructured.Unstructured:
		return json.Unmarshal([]byte(withWeb1), &into.Object)
	case *appsv1.Deployment:
		return json.Unmarshal([]byte(withWeb1), into)
	case *corev1.Service:
		if service := p.services[key.Name]; service != nil {
			service.DeepCopyInto(into)
			return nil
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
}

func (p *passing) Create(context.Context, client.Object, ...client.CreateOption) error {
	return p.answer
}

func (p *passing) Patch(context.Context, client.Object, client.Patch, ...client.PatchOption) error {
	return p.answer
}

func (p *passing) Delete(context.Context, client.Object, ...client.DeleteOption) error {
	return p.answer
}

// TestAnswersThatAWebhookPassesOn: an admission webhook that fails to read or write an object of
// its own may pass that answer on. A write for which it does so is reported, and sent again after
// some time, as one that the API server can't answer.
func TestAnswersThatAWebhookPassesOn(t *testing.T) {
	t.Parallel()
	secrets := schema.GroupResource{Resource: "secrets"}
	missing, conflict, exists := apierrors.NewNotFound(secrets, "ca"), apierrors.NewConflict(secrets, "ca", nil), apierrors.NewAlreadyExists(secrets, "ca")
	release := &v1alpha1.BatchRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "release-1"}}
	release.Spec.WorkloadRef = v1alpha1.WorkloadReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}
	release.Spec.Strategy.Traffic = &v1alpha1.Traffic{Routes: []v1alpha1.TrafficRoute{{Kind: v1alpha1.RouteIngress, Name: "web", Service: "web"}}}
	user := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "user", ResourceVersion: "1"}}
	user.Spec.Selector = map[string]string{"app": "web"}
	side := newSide(release, user, traffic.PointSide{Name: traffic.CanarySide, Revision: "v1"})
	side.UID, side.ResourceVersion = "side", "5"
	point := plan.Traffic{Write: traffic.PointSide{Name: traffic.CanarySide, Revision: "v2"}}
	for name, test := range map[string]struct {
		action  plan.Action
		answers []error
		has     []*corev1.Service
	}{
		"a gate is opened":       {plan.OpenGate{Name: "web-v2-1-0-0"}, []error{missing, conflict, exists}, nil},
		"a template is recorded": {plan.RecordRevision{Revision: "v1", Digest: digestOfJSON(t, web1)}, []error{missing, conflict, exists}, nil},
		"a ReplicaSet is made":   {plan.MovePods{Write: deployment.Create{Revision: "v1", Replicas: 1}}, []error{missing, conflict, exists}, nil},
		"a Service is made":      {point, []error{missing, conflict, exists}, nil},
		"a Service is changed":   {point, []error{missing, conflict}, []*corev1.Service{side}},
		"Services are deleted":   {plan.Traffic{Write: traffic.DropSides{}}, []error{conflict}, []*corev1.Service{side}},
	} {
		for _, answer := range test.answers {
			t.Run(name+"/"+string(apierrors.ReasonForError(answer)), func(t *testing.T) {
				t.Parallel()
				server := &passing{answer: answer, services: map[string]*corev1.Service{"web": user}}
				v := seen(t, withWeb1)
				v.release = release.DeepCopy()
				v.process.traffic = newTrafficProcess(clock.RealClock{})
				v.traffic = trafficSeen{services: map[string]*corev1.Service{}, users: map[string]*corev1.Service{"web": user.DeepCopy()}, live: map[string]bool{}}
				for _, service := range test.has {
					server.services[service.Name], v.traffic.services[service.Name] = service, service.DeepCopy()
				}
				r := newReconciler(&cluster{client: server, live: server, clock: clock.RealClock{}, routes: &routes{}})
				err := shell{r: r, v: v}.Act(t.Context(), []plan.Action{test.action})
				if !errors.Is(err, turns.ErrUnasked) || len(v.process.refusals) != 1 || !v.process.refusals[0].Unanswered {
					t.Errorf("error %v, refusals %+v, want one that is not answered", err, v.process.refusals)
				}
			})
		}
	}
}
