package route

import (
	"crypto/sha256"
	"encoding/base32"
	"strings"

	"github.com/sluice-dev/sluice/rollout/traffic"
)

// Sides are the names of a Service and of the two that select one version each.
type Sides struct{ Service, Stable, Canary string }

// The most bytes that names may have.
const (
	serviceNameLength = 63
	ingressNameLength = 253
)

// SidesOf returns the names of the sides of a Service. They differ for different Services.
func SidesOf(service string) Sides {
	return Sides{
		Service: service,
		Stable:  named(service, string(traffic.StableSide), serviceNameLength),
		Canary:  named(service, string(traffic.CanarySide), serviceNameLength),
	}
}

// CanaryIngressName returns the name of the second Ingress of an Ingress.
func CanaryIngressName(ingress string) string {
	return named(ingress, string(traffic.CanarySide), ingressNameLength)
}

// named ends a name, within its limit. A name that was cut has exactly the length of the limit, and
// one that was not is shorter: they are never the same.
func named(name, ending string, limit int) string {
	ending = "-" + ending
	if len(name)+len(ending) < limit {
		return name + ending
	}
	const digits = 10
	sum := sha256.Sum256([]byte(name))
	ending = "-" + strings.ToLower(base32.HexEncoding.EncodeToString(sum[:]))[:digits] + ending
	prefix := name[:limit-len(ending)]
	if dotless, ok := strings.CutSuffix(prefix, "."); ok {
		prefix = dotless + "-" // no part of a DNS name begins with a hyphen
	}
	return prefix + ending
}
