package spec

// Document is one YAML document of a file.
type Document struct {
	// Value is its value as package json decodes it, with json.Number for numbers.
	Value any

	text document
}

// Documents reads the documents of a file within the limits of a Reader. It resolves aliases, and
// returns what is wrong with the file or with a document. The errors name no file.
func Documents(data []byte, limits Limits) ([]Document, []Error) {
	limits = limits.withDefaults()
	texts, problems := split(data, limits)
	var documents []Document
	for _, text := range texts {
		value, found := text.toJSON(limits)
		if problems = append(problems, found...); found == nil {
			documents = append(documents, Document{decode(value), text})
		}
	}
	var errors []Error
	for _, found := range problems {
		errors = append(errors, found.at.error("", found.message))
	}
	return documents, errors
}

// Place returns line and column, from 1, of the field at a path such as spec.steps[1].replicas, or
// of the deepest part of the path that the document has.
func (d Document) Place(path string) (line, column int) {
	at := d.text.find(path)
	return at.line, at.column
}
