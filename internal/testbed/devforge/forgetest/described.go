package forgetest

import "github.com/sluice-dev/sluice/internal/testbed/npm"

// descriptionFolder is the folder of the cache with what GitHub publishes.
const descriptionFolder = "github-description"

// What GitHub publishes: the description of its API and webhooks, and recorded payloads.
var (
	openAPIPackage = npm.Package{
		Scope: "@octokit", Name: "openapi", Version: "23.0.2",
		Integrity: "pV8M7L9GY23AybNvTmo2nyjmpmnt6+2sRE/tqr0ZLQcPS4lnw7u5eZGNmwRNkBC3D7gZXbFx5AHzLUVRBXGDhg==",
		File:      "package/generated/api.github.com.json", Folder: descriptionFolder, Kept: "openapi-23.0.2-schemas.json", Shrink: schemasOnly,
	}
	examplesPackage = npm.Package{
		Scope: "@octokit", Name: "webhooks-examples", Version: "7.6.1",
		Integrity: "De6U3XB6O3DtCa7bKgCMzTHdeopqqZ6SNivMYJnK65ierKL1AnNIA0tkRYCRS7lwGT792d+Ps1WbfHlso6MynQ==",
		File:      "package/api.github.com/index.json", Folder: descriptionFolder, Kept: "webhooks-examples-7.6.1.json",
	}
)
