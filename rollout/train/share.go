package train

// Pods counts the pods of a member that has not done the steps that it may start.
type Pods struct {
	// Replicas counts its pods, and Updated those that are available and run the new template.
	Replicas, Updated int32
}

// percent is all of something.
const percent = 100

// Most returns how many pods a percentage of them are, rounded up.
func Most(share, replicas int32) int32 {
	return int32((int64(share)*int64(replicas) + percent - 1) / percent)
}

// Share returns the percentage of its pods that each member may update, if members are at most skew
// apart:
//
//	min(floor(100 * updated / replicas)) + skew
//
// It lets the slowest member update at least one more. Without members it is 100.
func Share(members []Pods, skew int32) int32 {
	slowest := int32(percent)
	for _, m := range members {
		if m.Replicas > 0 {
			slowest = min(slowest, int32(int64(m.Updated)*percent/int64(m.Replicas)))
		}
	}
	return min(slowest+skew, percent)
}

// Reached reports whether all members have updated the percentage of their pods.
func Reached(members []Pods, share int32) bool {
	for _, m := range members {
		if m.Updated < Most(share, m.Replicas) {
			return false
		}
	}
	return true
}
