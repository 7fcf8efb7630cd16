package show

import (
	"strings"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// images returns the images of the template that is, or was last, released, separated by commas.
// While a template waits, and after a rollback, spec.template has other ones.
func images(release *v1alpha1.BatchRelease) string {
	return strings.Join(release.Status.Images, ",")
}

// ReleasedVersion returns the version that is, or was last, released, as its images name it.
func ReleasedVersion(release *v1alpha1.BatchRelease) string { return VersionOf(images(release)) }

// digestShown limits the length of a digest in output.
const digestShown = len("sha256:") + 12

// VersionOf returns what tells images, which are separated by commas, from those of other versions:
// the tag of a single image, and names with tags of several. An image without a tag shows the
// beginning of its digest, or latest.
//
//	registry.example.com/shop/web:1.29                 1.29
//	shop/web:1.29,envoy@sha256:6bc5cb23e5ab98db58...   web:1.29,envoy@sha256:6bc5cb23e5ab
func VersionOf(images string) string {
	if images == "" {
		return ""
	}
	all := strings.Split(images, ",")
	if len(all) == 1 {
		_, _, version := splitImage(all[0])
		return version
	}
	for i, image := range all {
		name, sign, version := splitImage(image)
		all[i] = name + sign + version
	}
	return strings.Join(all, ",")
}

// splitImage returns the last part of an image's name, and its version with the sign before it.
func splitImage(image string) (name, sign, version string) {
	name, digest, _ := strings.Cut(image, "@")
	name = name[strings.LastIndex(name, "/")+1:]
	name, tag, tagged := strings.Cut(name, ":")
	switch {
	case tagged:
		return name, ":", tag
	case digest != "":
		return name, "@", digest[:min(len(digest), digestShown)]
	default:
		return name, ":", "latest"
	}
}
