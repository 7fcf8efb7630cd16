// Package show turns what is known of releases into rows and lines for people.
//
//	objects of the cluster, the time ──► rows of a table, lines of a tree
//
// It is pure: the same objects give the same text, and nothing is read or written here.
package show
