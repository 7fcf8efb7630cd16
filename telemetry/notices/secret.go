package notices

// secret is what nobody may see: it prints as a word that says so, in whatever form.
type secret string

const hidden = "(hidden)"

// String implements fmt.Stringer.
func (secret) String() string { return hidden }

// GoString implements fmt.GoStringer.
func (secret) GoString() string { return hidden }

// MarshalJSON implements json.Marshaler.
func (secret) MarshalJSON() ([]byte, error) { return []byte(`"` + hidden + `"`), nil }
