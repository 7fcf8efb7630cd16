package cptest

import (
	"context"
	"sync"
	"testing"

	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
)

// gatewayAPI installs the Gateway API once for all tests of a process.
var gatewayAPI = sync.OnceValue(func() error {
	p, err := shared()
	if err != nil {
		return err
	}
	cfg, err := p.access.Config()
	if err != nil {
		return err
	}
	return controlplane.InstallGatewayAPI(context.Background(), cfg)
})

// GatewayAPI makes the control plane serve HTTPRoutes, GRPCRoutes and ReferenceGrants. No Gateway
// reads them.
func GatewayAPI(tb testing.TB) {
	tb.Helper()
	Access(tb)
	if err := gatewayAPI(); err != nil {
		tb.Fatal(err)
	}
}
