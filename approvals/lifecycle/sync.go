package lifecycle

import (
	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/report"
)

// SyncIntent is one thing to do for the report of a source: PostSync or Connect.
//
//sumtype:decl
type SyncIntent interface{ syncIntent() }

type (
	// PostSync posts a status unless the forge has refused it, and records it.
	PostSync struct{ Post report.Post }
	// Connect checks the credentials of the source.
	Connect struct{}
)

func (PostSync) syncIntent() {}
func (Connect) syncIntent()  {}

// SyncFacts holds what is known of a source's report besides the source's own fields.
type SyncFacts struct {
	Words report.Options
	// Connected reports whether the forge has accepted the source as it is now.
	Connected bool
}

// NextOfSync returns the intents for the report of a source.
func NextOfSync(source *v1alpha1.ReleaseSource, facts SyncFacts) []SyncIntent {
	post, due := report.Sync(source, facts.Words)
	switch {
	case due:
		return []SyncIntent{PostSync{post}}
	case !facts.Connected:
		return []SyncIntent{Connect{}}
	default:
		return nil
	}
}
