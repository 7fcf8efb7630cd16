package show

import (
	"cmp"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/sluice-dev/sluice/internal/plain"
)

// none stands where there is nothing to say, as in kubectl's tables.
const none = "<none>"

// column returns one of a table. A wide column is shown only on request.
func column(name string) metav1.TableColumnDefinition {
	return metav1.TableColumnDefinition{Name: name, Type: "string"}
}

func wide(name string) metav1.TableColumnDefinition {
	definition := column(name)
	definition.Priority = 1
	return definition
}

// row returns one of a table. An empty cell says that there is nothing.
func row(cells ...string) metav1.TableRow {
	row := metav1.TableRow{Cells: make([]any, 0, len(cells))}
	for _, cell := range cells {
		row.Cells = append(row.Cells, cmp.Or(plain.UpTo(plain.Line(cell), mostCell), none))
	}
	return row
}

// marked returns a row with a marker in front, or none.
func marked(marker string, cells ...string) metav1.TableRow {
	row := row(cells...)
	row.Cells = append([]any{marker}, row.Cells...)
	return row
}

// since returns the time that has gone by, as kubectl writes it.
func since(then metav1.Time, now time.Time) string {
	if then.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(now.Sub(then.Time))
}
