package spec

import (
	"bytes"
	"os"
	"path"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/sluice-dev/sluice/gitsync/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Main(serve)
	os.Exit(m.Run())
}

// builds are the processes of all tests of this package.
var builds = sandbox.NewPool(sandbox.Options{})

// serve calls Build, and for inputs that ask for it kustomize alone, with only the sandbox around
// it.
func serve(input []byte) ([]byte, error) {
	bare, found := bytes.CutPrefix(input, []byte("unchecked\x00"))
	if !found {
		return Build(input)
	}
	files := filesys.MakeFsInMemory()
	parts := strings.Split(string(bare), "\x00")
	for i := 0; i+1 < len(parts); i += 2 {
		if err := files.WriteFile(path.Join("/", parts[i]), []byte(parts[i+1])); err != nil {
			return nil, err
		}
	}
	options := krusty.MakeDefaultOptions()
	options.PluginConfig.HelmConfig.Enabled, options.PluginConfig.HelmConfig.Command = true, "helm"
	options.PluginConfig.FnpLoadingOptions.EnableExec = true
	built, err := krusty.MakeKustomizer(options).Run(files, "/app")
	if err != nil {
		return nil, err
	}
	return built.AsYaml()
}
