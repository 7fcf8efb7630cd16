package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
)

// apiType is a type of the API.
type apiType struct {
	name, doc string
	fields    []apiField
	values    []apiValue
	markers   markers
}

// apiField is a field of an apiType.
type apiField struct {
	// golang and name are its names in Go and in JSON.
	golang, name, doc string
	// of is the name of its type without package, and package the package if it is another one.
	of, from string
	list     bool
	// inline marks a field whose fields count as fields of the type that has it.
	inline   bool
	optional bool
	markers  markers
}

// apiValue is one of the values of an apiType.
type apiValue struct{ name, doc string }

// markers are the arguments of kubebuilder's markers by their names, such as "default".
type markers map[string]string

// apiOf returns the types of a package by their names.
func apiOf(folder string) (map[string]*apiType, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return nil, fmt.Errorf("list the API: %w", err)
	}
	api, texts := map[string]*apiType{}, map[string]string{}
	var constants []*ast.ValueSpec
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("read the API: %w", err)
		}
		for _, declaration := range file.Decls {
			group, ok := declaration.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range group.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					api[spec.Name.Name] = typeOf(spec, cmp.Or(spec.Doc, group.Doc))
				case *ast.ValueSpec:
					constants = append(constants, spec)
				}
			}
		}
	}
	for _, spec := range constants {
		text(texts, spec)
	}
	for _, spec := range constants {
		addValues(api, texts, spec)
	}
	return api, nil
}

func typeOf(spec *ast.TypeSpec, doc *ast.CommentGroup) *apiType {
	t := &apiType{name: spec.Name.Name}
	t.doc, t.markers = docOf(doc)
	of, ok := spec.Type.(*ast.StructType)
	if !ok {
		return t
	}
	for _, field := range of.Fields.List {
		if f, ok := fieldOf(field); ok {
			t.fields = append(t.fields, f)
		}
	}
	return t
}

// fieldOf reports whether a field is of the API: whether it has a name in JSON, or is inlined.
func fieldOf(field *ast.Field) (apiField, bool) {
	if field.Tag == nil {
		return apiField{}, false
	}
	tag, _ := strconv.Unquote(field.Tag.Value)
	name, options, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
	f := apiField{name: name, inline: options == "inline"}
	f.doc, f.markers = docOf(field.Doc)
	_, marked := f.markers["optional"]
	f.optional = marked || strings.Contains(options, "omit")
	if len(field.Names) > 0 {
		f.golang = field.Names[0].Name
	}
	of := field.Type
	for {
		switch e := of.(type) {
		case *ast.StarExpr:
			of = e.X
			continue
		case *ast.ArrayType:
			of, f.list = e.Elt, true
			continue
		case *ast.Ident:
			f.of = e.Name
		case *ast.SelectorExpr:
			f.of, f.from = e.Sel.Name, e.X.(*ast.Ident).Name
		}
		return f, f.name != "" || f.inline
	}
}

// docOf splits a comment into its text, in one line, and its markers.
func docOf(comment *ast.CommentGroup) (string, markers) {
	var lines []string
	found := markers{}
	for line := range strings.Lines(comment.Text()) {
		marker, is := strings.CutPrefix(strings.TrimSpace(line), "+")
		if !is {
			lines = append(lines, line)
			continue
		}
		name, value, _ := strings.Cut(strings.TrimPrefix(marker, "kubebuilder:"), "=")
		found[strings.TrimPrefix(name, "validation:")] = value
	}
	return strings.Join(strings.Fields(strings.Join(lines, " ")), " "), found
}

// text notes the texts of constants.
func text(texts map[string]string, spec *ast.ValueSpec) {
	for i, value := range spec.Values {
		if literal, ok := value.(*ast.BasicLit); ok {
			texts[spec.Names[i].Name], _ = strconv.Unquote(literal.Value)
		}
	}
}

// addValues adds constants to the values of their type.
func addValues(api map[string]*apiType, texts map[string]string, spec *ast.ValueSpec) {
	of, ok := spec.Type.(*ast.Ident)
	if !ok || api[of.Name] == nil {
		return
	}
	doc, _ := docOf(spec.Doc)
	for i, value := range spec.Values {
		name := texts[spec.Names[i].Name]
		if other, ok := value.(*ast.Ident); ok {
			name = texts[other.Name]
		}
		api[of.Name].values = append(api[of.Name].values, apiValue{name, doc})
	}
}
