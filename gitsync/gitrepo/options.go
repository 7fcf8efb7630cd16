package gitrepo

import "github.com/sluice-dev/sluice/internal/dialer"

// Options of a Reader.
type Options struct {
	// AllowHTTP permits http:// addresses, over which content can be changed on its way.
	AllowHTTP bool
	// AllowFile permits file:// addresses: any author of a source can then read all repositories on
	// the controller's disk.
	AllowFile bool
	// Networks say what is never connected to, whatever a name resolves to. The names that go
	// through a proxy of the environment are the proxy's to refuse.
	Networks dialer.Rules
	// Limits on what is read; zero fields take the defaults.
	Limits Limits
	// MemoryBytes is the memory for all repositories together, while they are fetched and to make the
	// next fetch smaller. Default 256 MiB.
	MemoryBytes int64
	// Polls and Fetches are how many run at once. A poll holds next to nothing in memory, and a
	// fetch what it has received. Defaults 256 and 24.
	Polls, Fetches int
}

// Limits on one repository. A repository above them is an error of kind LimitExceeded; if one file
// is too large, only reading that file fails.
type Limits struct {
	// AdvertisementBytes of the list of references. Default 16 MiB.
	AdvertisementBytes int64
	// PackBytes of one pack as it is sent. Default 100 MiB.
	PackBytes int64
	// InflatedBytes of all objects of one pack. Default 1 GiB.
	InflatedBytes int64
	// KeptBytes of all files and trees of a snapshot, with what it takes to hold them. Default three
	// eighths of Options.MemoryBytes, at most half of it.
	KeptBytes int64
	// CachedBytes up to which a snapshot is kept to make the next fetch smaller. Default 16 MiB.
	CachedBytes int64
	// FileBytes of one file. Default 4 MiB.
	FileBytes int64
	// Objects in one pack. Default 500,000.
	Objects int
	// History is how many generations back a head is searched for the commit known before.
	// Default 16,384.
	History int
}

// treeBytes limits one tree object: about 100,000 entries.
const treeBytes = 4 << 20

func (o Options) withDefaults() Options {
	setDefault(&o.MemoryBytes, 256<<20)
	setDefault(&o.Polls, 256)
	setDefault(&o.Fetches, 24)
	setDefault(&o.Limits.AdvertisementBytes, 16<<20)
	setDefault(&o.Limits.PackBytes, 100<<20)
	setDefault(&o.Limits.InflatedBytes, 1<<30)
	setDefault(&o.Limits.KeptBytes, o.MemoryBytes*3/8)
	o.Limits.KeptBytes = min(o.Limits.KeptBytes, o.MemoryBytes/2)
	setDefault(&o.Limits.CachedBytes, 16<<20)
	setDefault(&o.Limits.FileBytes, 4<<20)
	setDefault(&o.Limits.Objects, 500_000)
	setDefault(&o.Limits.History, 16_384)
	return o
}

func setDefault[T int | int64](field *T, value T) {
	if *field <= 0 {
		*field = value
	}
}
