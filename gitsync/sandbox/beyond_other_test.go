//go:build !linux

package sandbox

func beyond() map[string]error { return nil }
