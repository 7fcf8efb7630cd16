package plan

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TrafficOf is the percentage of requests that a step gives to the new version: its own, or that of the step before; 0 at first, and
// all in the last step, and beyond it.
func TrafficOf(steps []v1alpha1.Step, index int) int32 {
	if index >= len(steps)-1 {
		return percent
	}
	for ; index >= 0; index-- {
		if weight, err := parseTraffic(steps[index].Traffic); err == nil {
			return weight
		}
	}
	return 0
}

// parseTraffic reads "10%". That a step says nothing is an error, too.
func parseTraffic(text string) (int32, error) {
	digits, isPercent := strings.CutSuffix(text, "%")
	weight, err := strconv.ParseUint(digits, 10, 31) // no sign: the CRD takes none
	if !isPercent || err != nil || weight > percent {
		return 0, fmt.Errorf("%q is not a percentage from 0%% to 100%%", text)
	}
	return int32(weight), nil
}
