package notices

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"
	"time"
)

// schemaURL is where the data of events is described.
const schemaURL = "https://raw.githubusercontent.com/sluice-dev/sluice/main/schemas/notice_v1.json"

// event is a CloudEvent 1.0 in structured mode.
type event struct {
	SpecVersion     string    `json:"specversion"`
	ID              string    `json:"id"`
	Source          string    `json:"source"`
	Type            string    `json:"type"`
	Subject         string    `json:"subject,omitempty"`
	Time            time.Time `json:"time"`
	DataContentType string    `json:"datacontenttype"`
	DataSchema      string    `json:"dataschema"`
	Data            *Notice   `json:"data"`
}

// eventOf returns a notice as a CloudEvent.
func eventOf(id string, n *Notice) event {
	return event{
		SpecVersion: "1.0", ID: id, Source: n.source(), Type: kinds[n.Kind].event, Subject: n.Workload, Time: n.Time,
		DataContentType: "application/json", DataSchema: schemaURL, Data: n,
	}
}

// eventRequest returns the body and headers of a CloudEvent, with the headers of Standard Webhooks
// if there are keys.
func eventRequest(id string, n *Notice, keys []secret, now time.Time) ([]byte, http.Header, error) {
	body, err := encode(eventOf(id, n))
	if err != nil {
		return nil, nil, err
	}
	header := http.Header{"Content-Type": {"application/cloudevents+json; charset=UTF-8"}}
	if len(keys) > 0 {
		at := strconv.FormatInt(now.Unix(), 10)
		header.Set("Webhook-Id", id)
		header.Set("Webhook-Timestamp", at)
		header.Set("Webhook-Signature", signatures(id, at, body, keys))
	}
	return body, header, nil
}

// signatures returns those of Standard Webhooks, one for each key: while keys are changed, a
// receiver knows one of the two.
func signatures(id, at string, body []byte, keys []secret) string {
	var signed []byte
	for _, key := range keys {
		hasher := hmac.New(sha256.New, []byte(key.reveal()))
		hasher.Write([]byte(id + "." + at + "."))
		hasher.Write(body)
		signed = append(signed, " v1,"...)
		signed = base64.StdEncoding.AppendEncode(signed, hasher.Sum(nil))
	}
	return string(bytes.TrimSpace(signed))
}

// encode returns JSON without escapes of & < >: no browser reads it.
func encode(value any) ([]byte, error) {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(body.Bytes()), nil
}
