// Package show turns releases into the tables and lines that the command prints; pure.
//
//	objects of the cluster, the time ──► rows of a table, lines of a tree
//
// It is pure: the same objects give the same text, and nothing is read or written here.
package show
