package main

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/sluice-dev/sluice/gitsync/gitrepo"
	"github.com/sluice-dev/sluice/gitsync/sandbox"
	"github.com/sluice-dev/sluice/gitsync/spec"
)

// registerGit has flags for all options of reading repositories and the manifests in them. Packages
// gitrepo and spec have the defaults.
func registerGit(set *pflag.FlagSet, options *gitrepo.Options, manifests *spec.Limits, builds *sandbox.Options) {
	set.BoolVar(&options.AllowHTTP, "git-allow-http", false,
		"allow http:// repositories: others can then change what is read")
	set.BoolVar(&options.AllowFile, "git-allow-file", false,
		"allow file:// repositories: anyone who may write a ReleaseSource can then read every repository on the controller's disk")
	set.Func("git-denied-networks", "comma-separated `networks` (a.b.c.d/n) to which connections for Git and forges are refused; "+
		"loopback, link-local and the metadata addresses of clouds always are", networks(&options.Networks.Denied))
	registerAllowedNetworks(set, options)
	set.IntVar(&options.Polls, "git-polls", 0, "`number` of repositories to poll at once; a namespace may use an eighth of it (default 256)")
	set.IntVar(&options.Fetches, "git-fetches", 0, "`number` of repositories to fetch, and hold in memory, at once; a namespace may use an eighth of it (default 24)")
	set.Func("git-memory", "memory `size` for all repositories together (default 256Mi)", size(&options.MemoryBytes))
	set.Func("git-max-file", "greatest `size` of one file (default 4Mi)", size(&options.Limits.FileBytes, &manifests.FileBytes))
	registerGitLimits(set, &options.Limits)
	registerManifestLimits(set, manifests, builds)
	set.DurationVar(&builds.Limits.Total, "build-total-timeout", 0,
		"maximum `duration` of processor time to build kustomizations of one source before others have a turn (default 1m0s)")
}

// registerGitLimits has the flags that bound what one repository may cost.
func registerGitLimits(set *pflag.FlagSet, limits *gitrepo.Limits) {
	sizes := []struct {
		flag, usage string
		value       *int64
	}{
		{"git-max-advertisement", "greatest `size` of a repository's list of references (default 16Mi)", &limits.AdvertisementBytes},
		{"git-max-pack", "greatest `size` of one fetch as transferred (default 100Mi)", &limits.PackBytes},
		{"git-max-inflated", "greatest `size` of all objects of one fetch (default 1Gi)", &limits.InflatedBytes},
		{"git-max-kept", "greatest `size` of all files and folders at one commit, at most half of --git-memory (default three eighths of that)", &limits.KeptBytes},
		{"git-max-cached", "`size` up to which a commit's files are cached to make the next fetch smaller (default 16Mi)", &limits.CachedBytes},
	}
	for _, limit := range sizes {
		set.Func(limit.flag, limit.usage, size(limit.value))
	}
	set.IntVar(&limits.Objects, "git-max-objects", 0, "greatest `number` of objects in one fetch (default 500000)")
	set.IntVar(&limits.History, "git-max-history", 0,
		"`number` of commits to search back for the previous head of a branch (default 16384)")
}

// registerManifestLimits has the flags that bound what the manifests of one repository may cost.
func registerManifestLimits(set *pflag.FlagSet, limits *spec.Limits, builds *sandbox.Options) {
	set.Func("manifests-max-build", "greatest `size` of all files for one kustomization (default 8Mi)", size(&limits.BuildBytes))
	set.Func("build-memory", "memory `size` for building one kustomization (default 128Mi)", size(&builds.Limits.Memory))
	set.DurationVar(&builds.Limits.Time, "build-timeout", 0, "maximum `duration` of processor time to build one kustomization (default 10s)")
	set.IntVar(&builds.Processes, "builds", 0, "`number` of kustomizations to build at once, each in its own process (default 2)")
	set.Func("manifests-max-total", "greatest `size` of all manifest files (default 64Mi)", size(&limits.TotalBytes))
	numbers := []struct {
		flag, usage string
		value       *int
	}{
		{"manifests-max-entries", "greatest `number` of files and folders (default 50000)", &limits.Entries},
		{"manifests-max-documents", "greatest `number` of documents in one file (default 2000)", &limits.Documents},
		{"manifests-max-values", "greatest `number` of values in a document with aliases expanded (default 20000)", &limits.Values},
		{"manifests-max-depth", "greatest `depth` of folders (default 64)", &limits.Depth},
		{"manifests-max-objects", "greatest `number` of objects from one kustomization (default 2000)", &limits.Objects},
		{"manifests-max-kustomizations", "greatest `number` of references from one kustomization to others (default 500)", &limits.Kustomizations},
	}
	for _, limit := range numbers {
		set.IntVar(limit.value, limit.flag, 0, limit.usage)
	}
}

// registerUnhurried has the flag for all builds of a command, which nothing else waits for.
func registerUnhurried(set *pflag.FlagSet, builds *sandbox.Options) {
	builds.Limits.Wall = longestBuild
	set.DurationVar(&builds.Limits.Total, "build-total-timeout", sandbox.NoTotal,
		"maximum `duration` of processor time to build all kustomizations (default no maximum)")
	set.Lookup("build-total-timeout").DefValue = "0s" // which the help does not show
}

// longestBuild limits the wall time of one build, generously: CI machines are busy.
const longestBuild = 10 * time.Minute

// size reads a size such as 1048576, 1Mi or 1M.
func size(into ...*int64) func(string) error {
	return func(text string) error {
		quantity, err := resource.ParseQuantity(text)
		if err != nil {
			return fmt.Errorf("read size: %w", err)
		}
		if quantity.Value() <= 0 {
			return errors.New("must be more than 0")
		}
		for _, value := range into {
			*value = quantity.Value()
		}
		return nil
	}
}

// registerAllowedNetworks has the flag for exceptions from the networks that are denied.
func registerAllowedNetworks(set *pflag.FlagSet, options *gitrepo.Options) {
	set.Func("git-allowed-networks", "comma-separated `networks` (a.b.c.d/n) to allow although they are denied, "+
		"such as 127.0.0.0/8 for trying things out", networks(&options.Networks.Allowed))
}

// networks reads a list of networks.
func networks(into *[]netip.Prefix) func(string) error {
	return func(text string) error {
		for network := range strings.SplitSeq(text, ",") {
			prefix, err := netip.ParsePrefix(strings.TrimSpace(network))
			if err != nil {
				return fmt.Errorf("read network: %w", err)
			}
			*into = append(*into, prefix.Masked())
		}
		return nil
	}
}
