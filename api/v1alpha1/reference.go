package v1alpha1

import "encoding/json"

// ReferenceCommit is the commit that another one was made from, such as that of a chart from which
// manifests were rendered. All of it is a claim of the other commit's trailers: it is shown, and
// nothing is decided by it.
type ReferenceCommit struct {
	// SHA is the hash of the commit.
	SHA string `json:"sha"`
	// Author is its author.
	// +optional
	Author string `json:"author,omitempty"`
	// Subject is its first line.
	// +optional
	Subject string `json:"subject,omitempty"`
	// Time is its date, as RFC 3339.
	// +optional
	Time string `json:"time,omitempty"`
}

// Text returns the ReferenceCommit as the value of its annotation; empty for nil.
func (r *ReferenceCommit) Text() string {
	if r == nil {
		return ""
	}
	data, _ := json.Marshal(r) // texts: it can't fail
	return string(data)
}

// maxReference bounds the annotation: its texts are short.
const maxReference = 4 << 10

// ParseReference returns the ReferenceCommit of an annotation; nil if it has none.
func ParseReference(annotation string) *ReferenceCommit {
	var reference ReferenceCommit
	if len(annotation) > maxReference || json.Unmarshal([]byte(annotation), &reference) != nil || reference.SHA == "" {
		return nil
	}
	return &reference
}
