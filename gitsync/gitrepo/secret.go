package gitrepo

// Keys of a Secret that holds credentials.
const (
	keyUsername   = "username"
	keyPassword   = "password"
	keyToken      = "bearerToken"
	keyCA         = "ca.crt"
	keyIdentity   = "identity"
	keyPassphrase = "identity.password"
	keyKnownHosts = "known_hosts"
)

// AuthOf returns the credentials that the data of a Secret holds.
func AuthOf(data map[string][]byte) Auth {
	return Auth{
		Username:    string(data[keyUsername]),
		Password:    string(data[keyPassword]),
		BearerToken: string(data[keyToken]),
		CABundle:    data[keyCA],
		PrivateKey:  data[keyIdentity],
		Passphrase:  data[keyPassphrase],
		KnownHosts:  data[keyKnownHosts],
	}
}
