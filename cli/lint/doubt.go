package lint

import "github.com/sluice-dev/sluice/gitsync/spec"

// Doubt tells one warning of a release from another, wherever files stand and whatever the words
// are.
type Doubt struct {
	Rule Rule
	// Path is that of a field of the release.
	Path string
	// Object is another object that it concerns, such as HTTPRoute shop/web; empty if none.
	Object string
}

// Rule is a reason to doubt that a release with traffic is as it was meant.
type Rule string

// The rules.
const (
	// AnotherRoute is probably meant.
	AnotherRoute Rule = "AnotherRoute"
	// NoExpression is none that most Gateways have.
	NoExpression Rule = "NoExpression"
	// NoTargetPort is a name that no container has.
	NoTargetPort Rule = "NoTargetPort"
	// MatchOfAll takes all requests whatever the percentage.
	MatchOfAll Rule = "MatchOfAll"
	// NoPods are there to get requests.
	NoPods Rule = "NoPods"
	// TooFewPods are not enough for a share of the requests, which waits for more.
	TooFewPods Rule = "TooFewPods"
	// LessTraffic doubts a step that gives fewer requests than it says, as no more pods would come.
	LessTraffic Rule = "LessTraffic"
	// KeptForNothing are old pods that go as soon as they are kept.
	KeptForNothing Rule = "KeptForNothing"
)

// doubt adds a warning about a field of the release.
func (r *review) doubt(about Doubt, message string) {
	warning := findingOf(Warning, spec.Find(r.files, r.place(), about.Path, about.Path+": "+message))
	warning.Doubt = about
	r.Findings = append(r.Findings, warning)
}
