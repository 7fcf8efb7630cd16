// Package traffic decides who gets requests. It is pure: what there is goes in as Seen, and what to
// write, and how many pods each version needs for the requests that it gets, come out as Standing.
//
// A release with traffic has two sides. Each is a Service that selects the pods of one version: the
// stable side that of the version that serves, the canary side that of the version that is
// released. While a release is in progress the user's routes refer to the two sides in the place of
// the user's Service, with weights; what they refer to, and with which weights, is read from the
// routes themselves, so that nothing about it has to be remembered. The sides of one revision are
// Services that select by pod-template-hash.
package traffic
