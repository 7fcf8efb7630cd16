package controlplane

import (
	"bytes"
	_ "embed"
	"fmt"
	"text/template"
	"time"
)

// Annotations on a pod (in practice: in a pod template) that say what happens to it. Without any,
// the pod is running and ready once Options.ReadyDelay has passed since it was bound to its node.
const (
	// BehaviourAnnotation has a pod fail in one of the ways below.
	BehaviourAnnotation = "simulate.sluice.dev/behaviour"
	// ReadyDelayAnnotation takes the place of Options.ReadyDelay: a Go duration.
	ReadyDelayAnnotation = "simulate.sluice.dev/ready-delay"
)

// Values of BehaviourAnnotation.
const (
	// CrashLoop is a pod whose containers end with exit code 1 at once, again and again, with
	// CrashLoopBackOff in between: restart n waits 2^(n-1) seconds, at most 32.
	CrashLoop = "crash-loop"
	// ImagePullFailure is a pod that stays pending with ImagePullBackOff.
	ImagePullFailure = "image-pull-failure"
	// NeverReady is a pod that runs and is not ready.
	NeverReady = "never-ready"
	// Fail is the pod of a Job that ends with exit code 1. The pod of a Job without a behaviour
	// succeeds.
	Fail = "fail"
)

//go:embed kwok.yaml.tmpl
var kwokTemplate string

// kwokConfig returns KWOK's configuration with all stages.
func kwokConfig(readyDelay time.Duration) ([]byte, error) {
	parsed, err := template.New("kwok.yaml").Delims("[[", "]]").Option("missingkey=error").Parse(kwokTemplate)
	if err != nil {
		return nil, fmt.Errorf("parse KWOK's configuration: %w", err)
	}
	var config bytes.Buffer
	err = parsed.Execute(&config, map[string]any{
		"BehaviourKey":     BehaviourAnnotation,
		"CrashLoop":        CrashLoop,
		"ImagePullFailure": ImagePullFailure,
		"NeverReady":       NeverReady,
		"Fail":             Fail,
		"ReadyDelay":       readyDelay,
		"ReadyDelayKey":    ReadyDelayAnnotation,
	})
	if err != nil {
		return nil, fmt.Errorf("fill in KWOK's configuration: %w", err)
	}
	return config.Bytes(), nil
}
