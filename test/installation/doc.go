// Package installation goes the way of an administrator, from the first installation to the last
// command of uninstalling, on a control plane of its own: what is done there is done to the whole
// cluster.
package installation
