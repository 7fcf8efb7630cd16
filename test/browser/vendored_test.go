package browser_test

import (
	"bytes"
	"io/fs"
	"testing"

	"github.com/sluice-dev/sluice/dashboard/page"
	"github.com/sluice-dev/sluice/internal/testbed/npm"
)

// TestVendoredScripts: vendored scripts equal the published ones, to the byte, and have their
// licence. For another version: change Version, take Integrity from "npm view idiomorph@VERSION
// dist.integrity", and copy dist/idiomorph.min.js of the package over the asset.
func TestVendoredScripts(t *testing.T) {
	t.Parallel()
	idiomorph := npm.Package{
		Name: "idiomorph", Version: "0.8.0", Integrity: "R47JBL+6jHDQvcnbppIUtXXcxi5h6+wuCEEZXnRhUltsgzPFKzThL5PuHppP9ypJuy+7WawcY1TsSBD/iQbMhw==", Folder: "idiomorph",
	}
	for asset, file := range map[string]string{"idiomorph.min.js": "package/dist/idiomorph.min.js", "idiomorph.LICENSE": "package/LICENSE"} {
		published := idiomorph
		published.File, published.Kept = file, "0.8.0-"+asset
		want, err := published.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got, err := fs.ReadFile(page.Assets(), asset)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not the file of %s: %v", asset, published, err)
		}
	}
}
