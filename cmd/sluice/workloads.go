package main

import (
	"fmt"
	"strings"
)

// workloadKinds are how people write a kind of workload, as kubectl knows them.
var workloadKinds = map[string]string{
	"deployment": "Deployment", "deployments": "Deployment", "deploy": "Deployment",
	"statefulset": "StatefulSet", "statefulsets": "StatefulSet", "sts": "StatefulSet",
	"daemonset": "DaemonSet", "daemonsets": "DaemonSet", "ds": "DaemonSet",
}

// workloadKind is the kind that a user wrote; empty if it is not one of a workload that can be released.
func workloadKind(text string) string {
	return workloadKinds[strings.TrimSuffix(strings.ToLower(text), ".apps")]
}

// workloadName splits NAME or KIND/NAME. The kind is empty where there is none.
func workloadName(text string) (kind, name string, err error) {
	before, name, found := strings.Cut(text, "/")
	if !found {
		return "", text, nil
	}
	kind = workloadKind(before)
	if kind == "" || name == "" || strings.Contains(name, "/") {
		return "", "", fmt.Errorf("%q does not name a workload: write NAME, deployment/NAME, statefulset/NAME or daemonset/NAME", text)
	}
	return kind, name, nil
}
