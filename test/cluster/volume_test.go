package cluster

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/test/node"
)

// defaultClass is the annotation of a StorageClass that makes volumes for claims that name none.
const defaultClass = "storageclass.kubernetes.io/is-default-class"

// provideVolumes makes a volume for each pod in folders of this machine, unless the cluster makes
// volumes itself.
func (s *service) provideVolumes() {
	s.Helper()
	classes, err := s.core.StorageV1().StorageClasses().List(s.Context(), metav1.ListOptions{})
	if err != nil {
		s.Fatalf("list StorageClasses: %v", err)
	}
	for i := range classes.Items {
		if classes.Items[i].Annotations[defaultClass] == "true" {
			return
		}
	}
	nodes := s.nodes()
	for i := range s.size {
		name := fmt.Sprintf("%s-%d", s.name, i)
		folder := node.Dir(filepath.Join("volumes", name))
		if err := os.MkdirAll(folder, 0o750); err != nil {
			s.Fatalf("make folder for a volume: %v", err)
		}
		if err := s.Create(s.Context(), volume(name, folder, nodes[i%len(nodes)])); err != nil {
			s.Fatalf("make volume: %v", err)
		}
	}
}

// volume returns a folder of a node.
func volume(name, folder, node string) *corev1.PersistentVolume {
	there := corev1.NodeSelectorRequirement{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{node}}
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Mi")},
			AccessModes:                   []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			PersistentVolumeSource:        corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: folder}},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{there}}},
			}},
		},
	}
}

// ledger holds the content of a pod's volume.
type ledger struct {
	Owner    string
	Starts   []string
	Answered map[string]int
}

// wantKept wants each ordinal to have the data of the versions that ran there, in the order in
// which they ran, and all answers that the load has got to be noted in the volumes.
func (s *service) wantKept(starts [][]string) {
	s.Helper()
	before, err := s.counts()
	if err != nil {
		s.Fatalf("ask the load: %v", err)
	}
	noted := 0
	for i := range s.size {
		pod := fmt.Sprintf("%s-%d", s.name, i)
		var kept ledger
		s.await(pod+" has answered", func() error {
			kept, err = s.ledger(pod)
			if last := starts[i][len(starts[i])-1]; err == nil && kept.Answered[last] == 0 {
				return fmt.Errorf("want answers of %s in the volume of %s, got %v", last, pod, kept.Answered)
			}
			return err
		})
		s.Logf("%s: versions %v, answers %v", kept.Owner, kept.Starts, kept.Answered)
		if kept.Owner != pod {
			s.Errorf("%s has the volume of %s", pod, kept.Owner)
		}
		if diff := cmp.Diff(starts[i], kept.Starts); diff != "" {
			s.Errorf("versions in the volume of %s: -want +got:\n%s", pod, diff)
		}
		for _, version := range kept.Starts {
			if kept.Answered[version] == 0 {
				s.Errorf("%s: want answers of %s in the volume, got %v", pod, version, kept.Answered)
			}
		}
		for _, answers := range kept.Answered {
			noted += answers
		}
	}
	if answered := before.Sent - before.Failed; noted < answered {
		s.Errorf("the load has got %d answers, the volumes have %d", answered, noted)
	}
}

func (s *service) ledger(pod string) (ledger, error) {
	var kept ledger
	data, err := s.core.CoreV1().Pods(s.name).ProxyGet("http", pod, "8080", "ledger", nil).DoRaw(s.Context())
	if err != nil {
		return kept, err
	}
	return kept, json.Unmarshal(data, &kept)
}
