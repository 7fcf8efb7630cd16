package plan

// unobserved reports whether the native controller has not observed a workload yet that is taken over, in no step.
func (l *look) unobserved() bool {
	return !l.entered() && l.held() && (l.Workload.Behind > 0 || l.pods.Unseen)
}

// lookAgainUnobserved looks again where the native controller may never observe a workload: nothing else would.
func lookAgainUnobserved(d Decision) Decision {
	if !d.unobserved() {
		return d
	}
	return d.wakeAt(d.Now.Add(slowestLook))
}

// unobservedForLong reports whether people are to read that the native controller does not observe the workload: it can't write what it
// needs, for example, as a webhook does not answer.
func (t *telling) unobservedForLong() bool {
	since := t.before.LastUpdateTime
	return t.unobserved() && since != nil && t.Now.Sub(since.Time) >= slowestLook
}

// unobservedWords returns what to look at where the native controller keeps a release from its first step; empty if it does
// not.
func (t *telling) unobservedWords() string {
	if !t.unobservedForLong() {
		return ""
	}
	return "; " + unseenWords + ": look at the log of kube-controller-manager, and for a webhook that stops its writes"
}
