package handback

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestKept: of routes that can't be listed, a release is kept by those alone that it may have.
func TestKept(t *testing.T) {
	t.Parallel()
	releaseOf := func(routes ...v1alpha1.TrafficRoute) *v1alpha1.BatchRelease {
		release := &v1alpha1.BatchRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
		if routes != nil {
			release.Spec.Strategy.Traffic = &v1alpha1.Traffic{Routes: routes}
		}
		return release
	}
	taken := releaseOf()
	taken.Status.Traffic = &v1alpha1.TrafficStatus{}
	own, infra := v1alpha1.TrafficRoute{Kind: v1alpha1.RouteHTTP, Name: "web"}, v1alpha1.TrafficRoute{Kind: v1alpha1.RouteHTTP, Namespace: "infra", Name: "web"}
	for name, tc := range map[string]struct {
		release *v1alpha1.BatchRelease
		unseen  place
		text    string
		want    bool
	}{
		"Named":                    {releaseOf(own), place{v1alpha1.RouteHTTP, "shop"}, "web", true},
		"NamedInAll":               {releaseOf(own), place{v1alpha1.RouteHTTP, ""}, "web", true},
		"NamedElsewhere":           {releaseOf(infra), place{v1alpha1.RouteHTTP, "infra"}, "web", true},
		"OfAnotherKind":            {releaseOf(own), place{v1alpha1.RouteGRPC, "shop"}, "web", false},
		"OfAnotherNamespace":       {releaseOf(own), place{v1alpha1.RouteHTTP, "infra"}, "web", false},
		"NoTraffic":                {releaseOf(), place{v1alpha1.RouteHTTP, "shop"}, "web", false},
		"TrafficTakenOut":          {taken, place{v1alpha1.RouteHTTP, "shop"}, "web", true},
		"ReleaseGone":              {releaseOf(own), place{v1alpha1.RouteGRPC, "shop"}, "gone", true},
		"ReleaseGoneElsewhere":     {releaseOf(own), place{v1alpha1.RouteGRPC, "infra"}, "gone", false},
		"NotHeld":                  {releaseOf(own), place{v1alpha1.RouteHTTP, "shop"}, "", false},
		"NobodyCanTellWhoHoldsIt":  {releaseOf(own), place{v1alpha1.RouteGRPC, "shop"}, "{", true},
		"NobodyCanTellInAnotherNs": {releaseOf(own), place{v1alpha1.RouteGRPC, "infra"}, "{", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &metav1.ObjectMeta{Namespace: "shop", Annotations: map[string]string{v1alpha1.HoldAnnotation: `{"release":"` + tc.text + `","uid":"u","stable":"s"}`}}
			if tc.text == "" {
				w.Annotations = nil
			}
			k := kept{unseen: []place{tc.unseen}, releases: map[string]*v1alpha1.BatchRelease{"shop/web": tc.release}}
			if got := k.holds(w); got != tc.want {
				t.Errorf("want the workload to be kept: %v, got %v", tc.want, got)
			}
		})
	}
}
