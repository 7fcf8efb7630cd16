package podtemplate

import (
	"encoding/json"
	"fmt"
)

// OfHistory returns the JSON of the template in the data of a ControllerRevision that the native
// controller of StatefulSets or DaemonSets wrote (getPatch in pkg/controller/statefulset and
// pkg/controller/daemon of Kubernetes); nil if there is none.
func OfHistory(data []byte) (json.RawMessage, error) {
	var patch struct {
		Spec struct {
			Template map[string]json.RawMessage `json:"template"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(data, &patch); err != nil {
		return nil, fmt.Errorf("read recorded pod template: %w", err)
	}
	if patch.Spec.Template == nil {
		return nil, nil
	}
	delete(patch.Spec.Template, "$patch")
	raw, err := json.Marshal(patch.Spec.Template)
	if err != nil {
		return nil, fmt.Errorf("encode pod template: %w", err)
	}
	return raw, nil
}
