package gitsync

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/gitsync/gitrepo"
	"github.com/sluice-dev/sluice/gitsync/verify"
)

// keysOf returns the keys that count now; nil if the head is to bring the first. The file has the
// content that it had at the commit verified last.
func (r *Reconciler) keysOf(ctx context.Context, source *v1alpha1.ReleaseSource, file string) (*verify.Keys, error) {
	var files map[string][]byte
	var err error
	switch from := source.Spec.Verify.Keys; {
	case from.SecretRef != nil:
		files, err = r.secretKeys(ctx, client.ObjectKey{Namespace: source.Namespace, Name: from.SecretRef.Name})
	case from.ConfigMapRef != nil:
		files, err = r.configMapKeys(ctx, client.ObjectKey{Namespace: source.Namespace, Name: from.ConfigMapRef.Name})
	case file == "":
		return nil, nil
	default:
		files = map[string][]byte{path.Base(from.File): []byte(file)}
	}
	switch {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		return nil, notVerified(v1alpha1.ReasonKeysUnreadable, "read the keys of spec.verify: %v; create it, or name another", err)
	case err != nil:
		return nil, fmt.Errorf("read the keys of spec.verify: %w", err)
	}
	keys, err := verify.Read(files)
	if err != nil {
		return nil, notVerified(v1alpha1.ReasonKeysUnreadable, "read the keys of spec.verify: %v", err)
	}
	return keys, nil
}

func (r *Reconciler) secretKeys(ctx context.Context, key client.ObjectKey) (map[string][]byte, error) {
	var secret corev1.Secret
	err := r.live.Get(ctx, key, &secret)
	return secret.Data, err
}

func (r *Reconciler) configMapKeys(ctx context.Context, key client.ObjectKey) (map[string][]byte, error) {
	var configMap corev1.ConfigMap
	err := r.live.Get(ctx, key, &configMap)
	files := map[string][]byte{}
	for name, text := range configMap.Data {
		files[name] = []byte(text)
	}
	return files, err
}

// keysIn returns the content of the file with keys in a commit; empty if there is no such file to
// read. The keys must be readable: nothing could be verified with others.
func keysIn(head *gitrepo.Snapshot, file string) (string, error) {
	if file == "" {
		return "", nil
	}
	name := keyPath(file)
	info, err := fs.Stat(head.FS(), name)
	switch {
	case err != nil:
		return "", err
	case !info.Mode().IsRegular() || info.Size() > verify.MaxKeys:
		return "", fmt.Errorf("want a regular file of at most %d bytes", verify.MaxKeys)
	}
	text, err := fs.ReadFile(head.FS(), name)
	if err != nil {
		return "", err
	}
	_, err = verify.Read(map[string][]byte{path.Base(name): text})
	return string(text), err
}

func keyPath(file string) string { return path.Clean(strings.TrimLeft(file, "/")) }

// readsKeys adds the file with keys to the files that are read of a repository.
func readsKeys(source *v1alpha1.ReleaseSource, reads func(string) bool) func(string) bool {
	if source.Spec.Verify == nil || source.Spec.Verify.Keys.File == "" {
		return reads
	}
	keys := keyPath(source.Spec.Verify.Keys.File)
	return func(file string) bool { return file == keys || reads(file) }
}
