package plan

// nativeRollout reports whether the workload has the template without our doing, and not all of its pods run it: the native
// controller is still rolling it out, or the workload was paused on the way. What has not completed is no version
// to go back to yet. What we have handed back ourselves has completed, unless
// somebody has made the native controller begin another rollout since.
func (l *look) nativeRollout() bool {
	ours, left := l.record.Held != nil, l.pods.Others.Most
	if ours {
		left = l.pods.Others.Wanted
	}
	return l.Workload.Replicas > 0 && (left > 0 || !ours && l.updated() == 0)
}
