package notices

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// RecordName is the name of the ConfigMap with the record, in the namespace of the Lease.
const RecordName = "sluice-notices"

// recordKey is where in it the record is.
const recordKey = "record.json.gz"

// store keeps the record in a ConfigMap.
type store struct {
	reader    client.Reader
	writer    client.Writer
	namespace string
	// object is the ConfigMap as it was last read or written, without the record; nil if there is none.
	object *corev1.ConfigMap
}

// load reads the record; nil if there is none.
func (s *store) load(ctx context.Context) ([]byte, error) {
	object := &corev1.ConfigMap{}
	err := s.reader.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: RecordName}, object)
	if apierrors.IsNotFound(err) {
		s.object = nil
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the ConfigMap %s/%s: %w", s.namespace, RecordName, err)
	}
	packed := object.BinaryData[recordKey]
	object.BinaryData, object.ManagedFields = nil, nil
	s.object = object
	return packed, nil
}

// save writes the record. If somebody else has written it meanwhile, insist says to write it
// nevertheless: the one who holds the Lease is right.
func (s *store) save(ctx context.Context, packed []byte, insist bool) error {
	err := s.write(ctx, packed)
	if err == nil || !insist || !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) && !apierrors.IsNotFound(err) {
		return err
	}
	if _, err := s.load(ctx); err != nil {
		return err
	}
	return s.write(ctx, packed)
}

func (s *store) write(ctx context.Context, packed []byte) error {
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: s.namespace, Name: RecordName, Labels: map[string]string{"app.kubernetes.io/name": "sluice"},
	}}
	write := func() error { return s.writer.Create(ctx, object) }
	if s.object != nil {
		object = s.object.DeepCopy()
		write = func() error { return s.writer.Update(ctx, object) }
	}
	object.BinaryData = map[string][]byte{recordKey: packed}
	if err := write(); err != nil {
		return fmt.Errorf("write the ConfigMap %s/%s: %w", s.namespace, RecordName, err)
	}
	object.BinaryData, object.ManagedFields = nil, nil
	s.object = object
	return nil
}
