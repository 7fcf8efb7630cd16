// Package forgetest starts forges for tests, and checks their answers against GitHub's OpenAPI
// description.
//
// Start gives a forge whose every answer of the REST API, and every webhook that it sends, is
// checked against the OpenAPI description that GitHub publishes; what breaks it fails the test.
//
//	npm package, pinned ──► user's cache ──► OpenAPI document ──► Checker ──► answers, webhooks
//
// The description is fetched once for a user and kept in their cache folder; what is fetched must
// have the digest that is pinned here.
package forgetest
