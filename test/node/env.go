package node

// What a suite of tests with real containers has to know of a cluster, by environment variables.
const (
	// HostEnv names the address at which pods reach the machine that the tests run on.
	HostEnv = "SLUICE_TEST_HOST"
	// ImportEnv has the command, its words parted by spaces, that imports an archive of images,
	// given as one argument more, for pods to run.
	ImportEnv = "SLUICE_TEST_IMPORT"
	// KillEnv has the command, likewise, that kills a container, given by its id, with SIGKILL.
	KillEnv = "SLUICE_TEST_KILL"
	// TraefikEnv has the path of Traefik, if it can be run on this machine and reach pods.
	TraefikEnv = "SLUICE_TEST_TRAEFIK"
	// PrometheusEnv has the path of Prometheus, likewise.
	PrometheusEnv = "SLUICE_TEST_PROMETHEUS"
)
