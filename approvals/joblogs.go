package approvals

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/approvals/gate"
)

const (
	// logPatience is the time for reading a log: a node that hangs delays no decision for longer.
	logPatience = 5 * time.Second
	// logLines and logBytes limit what is read of a log.
	logLines = "10"
	logBytes = 64 << 10
	// maxLogRead limits what is taken of a last line without an end.
	maxLogRead = 4 << 20
)

// logs reads the logs of Jobs' pods.
type logs struct {
	live   client.Reader
	client rest.Interface
}

func newLogs(mgr ctrl.Manager) (logs, error) {
	cfg := rest.CopyConfig(mgr.GetConfig())
	cfg.APIPath, cfg.GroupVersion, cfg.NegotiatedSerializer = "/api", &corev1.SchemeGroupVersion, serializer.NewCodecFactory(mgr.GetScheme()).WithoutConversion()
	api, err := rest.RESTClientForConfigAndClient(cfg, mgr.GetHTTPClient())
	if err != nil {
		return logs{}, fmt.Errorf("make client for logs: %w", err)
	}
	return logs{live: mgr.GetAPIReader(), client: api}, nil
}

// tail returns the end of the log of the container that made a Job fail; empty if it can't be read.
// A log decides nothing.
func (l logs) tail(ctx context.Context, job *batchv1.Job) string {
	ctx, cancel := context.WithTimeout(ctx, logPatience)
	defer cancel()
	var pods corev1.PodList
	of := client.MatchingLabels{batchv1.ControllerUidLabel: string(job.UID)}
	if err := l.live.List(ctx, &pods, client.InNamespace(job.Namespace), of); err != nil {
		ctrl.LoggerFrom(ctx).Info("Cannot list the pods of a Job", "job", job.Name, "error", err.Error())
		return ""
	}
	pod, container := failedContainer(pods.Items, job)
	if pod == "" {
		return ""
	}
	stream, err := l.client.Get().Namespace(job.Namespace).Resource("pods").Name(pod).SubResource("log").
		Param("container", container).Param("tailLines", logLines).Stream(ctx)
	if err != nil {
		ctrl.LoggerFrom(ctx).Info("Cannot read the log of a Job", "job", job.Name, "error", err.Error())
		return ""
	}
	defer stream.Close()
	text, err := lastBytes(stream, logBytes)
	if err != nil {
		ctrl.LoggerFrom(ctx).Info("Cannot read the log of a Job", "job", job.Name, "error", err.Error())
	}
	return gate.LogTail(text)
}

// failedContainer returns the pod and container that made a Job fail: the container that ended last
// with an error.
func failedContainer(pods []corev1.Pod, job *batchv1.Job) (pod, container string) {
	var last time.Time
	for i := range pods {
		p := &pods[i]
		if owner := metav1.GetControllerOfNoCopy(p); owner == nil || owner.UID != job.UID {
			continue
		}
		for _, status := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
			ended := cmp.Or(status.State.Terminated, status.LastTerminationState.Terminated)
			if ended != nil && ended.ExitCode != 0 && (container == "" || ended.FinishedAt.After(last)) {
				pod, container, last = p.Name, status.Name, ended.FinishedAt.Time
			}
		}
	}
	return pod, container
}

// lastBytes returns the last bytes of a stream, and reads no more of it than a node may send in the
// time that there is.
func lastBytes(stream io.Reader, size int) ([]byte, error) {
	kept := make([]byte, 0, 2*size)
	buffer := make([]byte, 8<<10)
	for read := 0; read < maxLogRead; {
		n, err := stream.Read(buffer)
		read += n
		kept = append(kept, buffer[:n]...)
		if len(kept) > size {
			kept = append(kept[:0], kept[len(kept)-size:]...)
		}
		if errors.Is(err, io.EOF) {
			return kept, nil
		}
		if err != nil {
			return kept, err
		}
	}
	return kept, nil
}
