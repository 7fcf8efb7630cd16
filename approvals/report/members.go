package report

import (
	"fmt"
	"strings"

	"github.com/pmezard/go-difflib/difflib"

	"github.com/sluice-dev/sluice/internal/plain"
)

// Member is a member of a train's run.
type Member struct {
	Name string
	// Replicas, Updated and Available count its pods.
	Replicas, Updated, Available int32
	// From and To are its templates as YAML; From is empty if it is not known.
	From, To             string
	FromImages, ToImages []string
	// Later means that it comes after others, and has not begun.
	Later bool
}

const (
	// maxMembers limits the members that are listed, and maxRows the text of their rows, in bytes.
	maxMembers, maxRows = 100, 32_000
	// maxDiff and maxDiffs limit the text of one diff, and of all, in bytes. A forge refuses a text of
	// more than 65,536 characters.
	maxDiff, maxDiffs = 4_000, 24_000
)

// membersText lists the members with their images, and the differences of their templates.
func membersText(batch Batch) string {
	rows := []string{
		fmt.Sprintf("%s. %d of %s updated, %d available.", plain.Count(int32(len(batch.Members)), "member"),
			batch.Updated, plain.Count(batch.Replicas, "pod"), batch.Available),
		"", "| Member | From | To | Updated | Available |", "|---|---|---|---|---|",
	}
	listed, room := 0, maxRows
	for _, m := range batch.Members[:min(len(batch.Members), maxMembers)] {
		row := fmt.Sprintf("| %s | %s | %s | %d of %d | %d |",
			Code(m.Name), memberImages(m.FromImages), memberImages(m.ToImages), m.Updated, m.Replicas, m.Available)
		if room -= len(row); room < 0 {
			break
		}
		rows, listed = append(rows, row), listed+1
	}
	if more := len(batch.Members) - listed; more > 0 {
		rows = append(rows, "", fmt.Sprintf("and %d more.", more))
	}
	return strings.Join(rows, "\n") + laterText(batch.Members) + diffsText(batch.Members)
}

// laterText says that an answer counts for members, too, that have not begun.
func laterText(members []Member) string {
	n := int32(0)
	for _, m := range members {
		if m.Later {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("\n\n**Not begun: %s.** The answer here counts for their batch, too: they come after others, and do it without another approval. "+
		"For their templates see the commit.", plain.Count(n, "member"))
}

func memberImages(images []string) string {
	if len(images) == 0 {
		return "-"
	}
	text := codes(images[:min(len(images), maxImages)])
	if more := len(images) - maxImages; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// diffsText shows what changes in the templates, as long as there is room.
func diffsText(members []Member) string {
	var text strings.Builder
	left := 0
	for _, m := range members {
		diff := diffOf(m)
		switch {
		case diff == "":
		case text.Len()+len(diff) > maxDiffs:
			left++
		default:
			text.WriteString(diff)
		}
	}
	if left > 0 {
		fmt.Fprintf(&text, "\nThe templates of %s more have no room here: see the commit.\n", plain.Count(int32(left), "member"))
	}
	return text.String()
}

// diffOf returns the difference of a member's templates as a block; empty if it is not known. No
// line of a template can end the block: each begins with a space or a sign.
func diffOf(m Member) string {
	if m.From == "" || m.To == "" {
		return ""
	}
	diff, err := difflib.GetUnifiedDiffString(difflib.UnifiedDiff{
		A: difflib.SplitLines(m.From), B: difflib.SplitLines(m.To), FromFile: "before", ToFile: "after", Context: 2,
	})
	if err != nil || diff == "" {
		return ""
	}
	if len(diff) > maxDiff {
		diff = strings.ToValidUTF8(diff[:maxDiff], "") + "\n ..."
	}
	return fmt.Sprintf("\n\n<details><summary>Template of %s</summary>\n\n~~~~diff\n%s\n~~~~\n\n</details>", word(m.Name), strings.TrimRight(plain.Lines(diff), "\n"))
}
