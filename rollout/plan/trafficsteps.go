package plan

import (
	"strconv"
	"strings"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TrafficOf is the percentage of requests that a step gives to the new version: its own, or that of the step before; 0 at first, and
// all in the last step.
func TrafficOf(steps []v1alpha1.Step, index int) int32 {
	if index == len(steps)-1 {
		return percent
	}
	for ; index >= 0; index-- {
		if digits, is := strings.CutSuffix(steps[index].Traffic, "%"); is {
			if n, err := strconv.ParseInt(digits, 10, 32); err == nil {
				return int32(min(max(n, 0), percent))
			}
		}
	}
	return 0
}
