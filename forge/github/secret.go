package github

import (
	"strconv"

	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/wire"
)

// Keys of a Secret that says who we are.
const (
	keyToken        = "token"
	keyCA           = "ca.crt"
	keyApp          = "appID"
	keyInstallation = "installationID"
	keyPrivateKey   = "privateKey"
)

// OptionsOf returns the options for a repository. A number in its Secret that is none is a
// *forge.Error of kind Misconfigured.
func OptionsOf(a forge.Access) (Options, error) {
	options, err := Options{BaseURL: a.BaseURL, Owner: a.Owner, Repository: a.Repository}.WithSecret(a.Secret)
	if options.App != nil {
		options.App.Teams, options.App.Deployments = a.Teams, a.Deployments
	}
	return options, err
}

// WithSecret returns the options with who we are, and whom to trust, from the data of a Secret. A
// number that is none is a *forge.Error of kind Misconfigured.
func (o Options) WithSecret(data map[string][]byte) (Options, error) {
	o.Token, o.CABundle = string(data[keyToken]), data[keyCA]
	var err error
	o.App, err = AppOf(data)
	return o, err
}

// AppOf returns the app that the data of a Secret holds; nil if it holds none. A number that is
// none is a *forge.Error of kind Misconfigured.
func AppOf(data map[string][]byte) (*App, error) {
	if len(data[keyApp]) == 0 {
		return nil, nil
	}
	id, err := numberIn(data, keyApp)
	if err != nil {
		return nil, err
	}
	installation, err := numberIn(data, keyInstallation)
	if err != nil {
		return nil, err
	}
	return &App{ID: id, InstallationID: installation, PrivateKey: data[keyPrivateKey]}, nil
}

// numberIn returns 0 for a key that is not there.
func numberIn(data map[string][]byte, key string) (int64, error) {
	if len(data[key]) == 0 {
		return 0, nil
	}
	number, err := strconv.ParseInt(string(data[key]), 10, 64)
	if err != nil || number <= 0 {
		return 0, wire.Misconfigured("%s in the Secret is not an app's number", key)
	}
	return number, nil
}
