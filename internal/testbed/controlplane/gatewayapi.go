package controlplane

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"

	"k8s.io/client-go/rest"
)

// gatewayAPI is the module with the definitions of the Gateway API that tests install.
const gatewayAPI = "sigs.k8s.io/gateway-api@v1.6.3"

// InstallGatewayAPI installs the CRDs of the Gateway API that Sluice knows.
func InstallGatewayAPI(ctx context.Context, cfg *rest.Config) error {
	out, err := exec.CommandContext(ctx, "go", "mod", "download", "-json", gatewayAPI).Output()
	var module struct{ Dir, Error string }
	if read := json.Unmarshal(out, &module); err != nil || read != nil {
		return fmt.Errorf("download %s: %w: %s", gatewayAPI, errors.Join(err, read), module.Error)
	}
	var files []string
	for _, kind := range []string{"grpcroutes", "httproutes", "referencegrants"} {
		files = append(files, filepath.Join(module.Dir, "config", "crd", "standard", "gateway.networking.k8s.io_"+kind+".yaml"))
	}
	return Apply(ctx, cfg, files...)
}
