package v1alpha1

// Type names the one field of the policy that is set; empty if none is.
func (p GatePolicy) Type() GateType {
	switch {
	case p.Manual != nil:
		return GateManual
	case p.None != nil:
		return GateNone
	case p.Soak != nil:
		return GateSoak
	case p.Window != nil:
		return GateWindow
	default:
		return ""
	}
}
