package notices

// secret is a text that must not be shown. It is behind a pointer, so that printing a value that
// contains it prints a memory address.
type secret struct{ text *string }

// conceal makes a secret of a text.
func conceal(text string) secret { return secret{&text} }

// reveal returns the text, for the request alone.
func (s secret) reveal() string { return *s.text }

// String implements fmt.Stringer.
func (secret) String() string { return "(hidden)" }

// MarshalJSON implements json.Marshaler.
func (secret) MarshalJSON() ([]byte, error) { return []byte(`"(hidden)"`), nil }
