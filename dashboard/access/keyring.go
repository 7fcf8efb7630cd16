package access

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
)

const (
	// readAgain is how often files of secrets are read, for as long as somebody needs them.
	readAgain = 5 * time.Second
	// keySpread is how long a key that is new in the file seals nothing, if the one before is still
	// there: the kubelet updates the files of other replicas within it.
	keySpread = 3 * time.Minute
)

// keyring has the keys that seal sessions: fixed ones, or those of a file that is read again. A key
// that is taken out of the file opens nothing more. While the file can't be read, the earlier keys
// stay.
type keyring struct {
	path   string
	clock  clock.PassiveClock
	logger logr.Logger

	mu   sync.Mutex
	keys Keys
	read time.Time
	// secrets are those in the file since changed, of which sealing is the one that seals.
	secrets []string
	sealing string
	changed time.Time
	// failed is the last message about the file.
	failed string
}

// newKeyring takes the options' keys, or those of their file.
func newKeyring(o Options) (*keyring, error) {
	k := &keyring{path: o.KeysFile, clock: o.Clock, logger: o.Logger, keys: o.Keys}
	if k.path == "" {
		return k, nil
	}
	secrets, err := readSecrets(k.path)
	if err != nil {
		return nil, err
	}
	k.secrets, k.sealing, k.read = secrets, secrets[0], k.clock.Now()
	k.keys, err = NewKeys(secrets...)
	return k, err
}

// now returns the keys of the moment.
func (k *keyring) now() Keys {
	k.mu.Lock()
	defer k.mu.Unlock()
	if now := k.clock.Now(); k.path != "" && now.Sub(k.read) >= readAgain {
		k.read = now
		k.readAgain(now)
	}
	return k.keys
}

func (k *keyring) readAgain(now time.Time) {
	secrets, err := readSecrets(k.path)
	if err != nil {
		k.keep(err)
		return
	}
	k.failed = ""
	changed := !slices.Equal(secrets, k.secrets)
	if changed {
		k.changed = now
	}
	sealing := secrets[0]
	if now.Sub(k.changed) < keySpread && slices.Contains(secrets, k.sealing) {
		sealing = k.sealing
	}
	if !changed && sealing == k.sealing {
		return
	}
	keys, err := NewKeys(append([]string{sealing}, secrets...)...)
	if err != nil {
		k.keep(err)
		return
	}
	k.keys, k.secrets, k.sealing = keys, secrets, sealing
	k.logger.Info("session keys changed", "file", k.path, "keys", len(secrets), "newestSeals", sealing == secrets[0])
}

// keep says once why the keys of before stay.
func (k *keyring) keep(err error) {
	if k.failed != err.Error() {
		k.failed = err.Error()
		k.logger.Error(err, "the session keys of before stay in use", "file", k.path)
	}
}

// readSecrets reads a file with a key in each line, the newest first.
func readSecrets(path string) ([]string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("--session-key-file: %w", err)
	}
	secrets := strings.Fields(string(data))
	if len(secrets) == 0 {
		return nil, fmt.Errorf("--session-key-file: %s is empty; make a key with 'openssl rand -base64 32'", path)
	}
	for i, secret := range secrets {
		if len(secret) < minKey {
			return nil, fmt.Errorf("--session-key-file: key %d in %s has %d characters, want %d or more; make one with 'openssl rand -base64 32'",
				i+1, path, len(secret), minKey)
		}
	}
	return secrets, nil
}

// ownSecret is the dashboard's own with a login service, from a file that is read for each login:
// there are few. While it can't be read, the one of before stays.
type ownSecret struct {
	path   string
	logger logr.Logger

	mu     sync.Mutex
	secret string
}

// newOwnSecret takes the service's secret, or that of its file.
func newOwnSecret(o OIDC, logger logr.Logger) (*ownSecret, error) {
	c := &ownSecret{path: o.ClientSecretFile, logger: logger, secret: o.ClientSecret}
	if c.path == "" {
		return c, nil
	}
	return c, c.read()
}

func (c *ownSecret) read() error {
	data, err := os.ReadFile(c.path)
	if err != nil {
		return fmt.Errorf("--oidc-client-secret-file: %w", err)
	}
	secret := strings.TrimSpace(string(data))
	if secret == "" {
		return fmt.Errorf("--oidc-client-secret-file: %s is empty; leave the flag out for a public client", c.path)
	}
	c.secret = secret
	return nil
}

// now returns the secret of the moment.
func (c *ownSecret) now() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.path != "" {
		if err := c.read(); err != nil {
			c.logger.Error(err, "the client secret of before stays in use")
		}
	}
	return c.secret
}
