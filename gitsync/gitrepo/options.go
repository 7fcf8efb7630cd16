package gitrepo

import "github.com/sluice-dev/sluice/internal/dialer"

// Options of a Reader.
type Options struct {
	// AllowHTTP permits http:// addresses: what is read can be changed on its way.
	AllowHTTP bool
	// AllowFile permits file:// addresses: whoever writes a source can read any repository on
	// the controller's disk.
	AllowFile bool
	// Networks say what is never connected to, whatever a name resolves to. The names that go
	// through a proxy of the environment are the proxy's to refuse.
	Networks dialer.Rules
	// Limits on what is read; zero fields take the defaults.
	Limits Limits
	// Looks and Fetches are how many run at once. A fetch holds a repository in memory, a look
	// does not. Defaults 32 and 4.
	Looks, Fetches int
}

// Limits on one repository. What is above them is an error of kind
// LimitExceeded, a file that is too large aside: only reading that file fails.
type Limits struct {
	// AdvertisementBytes of the list of references. Default 16 MiB.
	AdvertisementBytes int64
	// PackBytes of one pack as it is sent. Default 100 MiB.
	PackBytes int64
	// InflatedBytes of all objects of one pack. Default 1 GiB.
	InflatedBytes int64
	// KeptBytes of all files and trees of a snapshot. Default 256 MiB.
	KeptBytes int64
	// CachedBytes up to which a snapshot is kept to make the next fetch smaller. Default 32 MiB.
	CachedBytes int64
	// FileBytes of one file. Default 1 MiB.
	FileBytes int64
	// Objects in one pack. Default 500,000.
	Objects int
	// History is how many generations back a head is searched for the commit known before.
	// Default 16,384.
	History int
}

// treeBytes limits one tree object: about 300,000 entries.
const treeBytes = 16 << 20

func (o Options) withDefaults() Options {
	setDefault(&o.Looks, 32)
	setDefault(&o.Fetches, 4)
	setDefault(&o.Limits.AdvertisementBytes, 16<<20)
	setDefault(&o.Limits.PackBytes, 100<<20)
	setDefault(&o.Limits.InflatedBytes, 1<<30)
	setDefault(&o.Limits.KeptBytes, 256<<20)
	setDefault(&o.Limits.CachedBytes, 32<<20)
	setDefault(&o.Limits.FileBytes, 1<<20)
	setDefault(&o.Limits.Objects, 500_000)
	setDefault(&o.Limits.History, 16_384)
	return o
}

func setDefault[T int | int64](field *T, value T) {
	if *field <= 0 {
		*field = value
	}
}
