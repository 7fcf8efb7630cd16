package notices

import (
	"net/http"
	"strings"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/plain"
)

// sizeSlack is what Slack takes in one section, in characters, with room to spare.
const sizeSlack = 2900

// escapes are the three characters by which Slack tells its commands from text: without them
// nothing mentions or links.
var escapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "`", "'")

// escape escapes a text so that Slack shows it as it is. Backticks are replaced, so that the text
// can't leave the code span of a template.
func escape(text string) string { return escapes.Replace(text) }

// escaped returns a notice whose texts Slack shows as they are.
func escaped(n Notice) Notice {
	for _, field := range []*string{
		&n.Summary, &n.Cluster, &n.Namespace, &n.Release, &n.Workload, &n.Revision, &n.From, &n.Commit, &n.Author, &n.Subject, &n.Message, &n.Command,
	} {
		*field = escape(*field)
	}
	n.Trigger = v1alpha1.RollbackTrigger(escape(string(n.Trigger)))
	n.StoppedBy, n.StalledBy = v1alpha1.StopCause(escape(string(n.StoppedBy))), v1alpha1.StallCause(escape(string(n.StalledBy)))
	if n.Gate != nil {
		gate := *n.Gate
		gate.Type = v1alpha1.GateType(escape(string(gate.Type)))
		gate.Name, gate.By, gate.URL = escape(gate.Name), escape(gate.By), linkTarget.Replace(gate.URL)
		n.Gate = &gate
	}
	return n
}

// linkTarget encodes what would end an address in a link of Slack.
var linkTarget = strings.NewReplacer("&", "&amp;", "<", "%3C", ">", "%3E", "|", "%7C", "`", "%60", " ", "%20")

// message is the body for an incoming webhook of Slack. Verbatim, "none" and false keep Slack from
// making links and mentions from text.
type message struct {
	Text        string  `json:"text"`
	Parse       string  `json:"parse"`
	LinkNames   bool    `json:"link_names"`
	UnfurlLinks bool    `json:"unfurl_links"`
	UnfurlMedia bool    `json:"unfurl_media"`
	Blocks      []block `json:"blocks"`
}

type block struct {
	Type string    `json:"type"`
	Text blockText `json:"text"`
}

type blockText struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	Verbatim bool   `json:"verbatim"`
}

// slackRequest returns the body for an incoming webhook of Slack, and its headers.
func slackRequest(n *Notice, template *words) ([]byte, http.Header, error) {
	shown, err := template.fill(escaped(*n))
	if err != nil {
		return nil, nil, err
	}
	fallback := escape(plain.UpTo(n.Namespace+"/"+n.Release+": "+n.Summary, sizeMessage))
	body, err := encode(message{
		Text: fallback, Parse: "none",
		Blocks: []block{{Type: "section", Text: blockText{Type: "mrkdwn", Text: shown, Verbatim: true}}},
	})
	return body, http.Header{"Content-Type": {"application/json; charset=UTF-8"}}, err
}
