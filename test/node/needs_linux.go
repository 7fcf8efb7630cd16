package node

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// packages are what a node takes of Debian and Ubuntu.
const packages = "containerd runc containernetworking-plugins iptables"

// needs are programs that are not built here.
type needs struct{ containerd, cniPlugins string }

// Check tells what this machine lacks to run a node.
func Check() error {
	if os.Geteuid() != 0 {
		return errors.New("a real node takes root: its containers are processes of this machine")
	}
	_, err := findNeeds()
	return err
}

func findNeeds() (needs, error) {
	var missing []string
	find := func(program string) string {
		path, err := exec.LookPath(program)
		if err != nil {
			missing = append(missing, program)
		}
		return path
	}
	found := needs{containerd: find("containerd"), cniPlugins: cniPlugins()}
	for _, program := range []string{"ctr", "runc", "iptables"} {
		find(program)
	}
	if found.cniPlugins == "" {
		missing = append(missing, "the network plugins bridge and host-local")
	}
	if len(missing) > 0 {
		return needs{}, fmt.Errorf("a real node lacks %s: apt-get install --no-install-recommends %s",
			strings.Join(missing, ", "), packages)
	}
	return found, nil
}

// cniPlugins returns the folder of the network plugins, empty if there is none.
func cniPlugins() string {
	for _, dir := range []string{"/usr/lib/cni", "/opt/cni/bin"} {
		if _, err := os.Stat(filepath.Join(dir, "bridge")); err == nil {
			return dir
		}
	}
	return ""
}
