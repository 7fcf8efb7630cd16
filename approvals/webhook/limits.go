package webhook

// Limits on the requests from one address that no secret of a source has signed, and on what is
// passed on for one namespace, whose tenants can sign any number. Forges send all their webhooks
// from a few addresses, and behind a proxy that is not trusted all requests come from one.
const (
	perSecond = 20
	burst     = 100
	maxSeen   = 4096
)
