// Package prometheus holds the alerts and the dashboard of Sluice to Prometheus itself: its parser
// takes every expression, and its engine shows on which series an alert fires and on which it does
// not. Grafana's schema takes the dashboard. make verify-alerts runs it.
package prometheus
