// Package notices reads notices of the product with the libraries that receivers use: those of
// CloudEvents, Standard Webhooks and JSON schemas.
package notices
