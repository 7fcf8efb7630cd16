// Package config holds the manifests by which Sluice is installed, so that the command has them
// with it.
package config

import "embed"

// Manifests are the folders of this package. A kustomization.yaml in them is for kubectl.
//
//go:embed crd/*.yaml rbac/*.yaml controller/*.yaml policy/*.yaml follow/*.yaml
//go:embed components/traffic/*.yaml components/job/*.yaml
//go:embed components/config/*.yaml components/config-secrets/*.yaml
//go:embed components/notices/*.yaml components/dashboard/*.yaml
//go:embed components/dashboard-unconstrained/*.yaml
var Manifests embed.FS
