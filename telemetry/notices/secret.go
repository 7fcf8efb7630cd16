package notices

// secret is what nobody may see. It is behind a pointer, so that whatever prints what holds it prints a place in memory.
type secret struct{ text *string }

// conceal makes a secret of a text.
func conceal(text string) secret { return secret{&text} }

// reveal is the text, for the request alone.
func (s secret) reveal() string { return *s.text }

// String implements fmt.Stringer.
func (secret) String() string { return "(hidden)" }

// MarshalJSON implements json.Marshaler.
func (secret) MarshalJSON() ([]byte, error) { return []byte(`"(hidden)"`), nil }
