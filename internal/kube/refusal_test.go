package kube

import (
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestRefusal(t *testing.T) {
	t.Parallel()
	env := field.NewPath("spec", "template", "spec", "containers").Index(0).Child("env").Index(0)
	invalid := func(errs ...*field.Error) error {
		return fmt.Errorf("patch Deployment: %w", apierrors.NewInvalid(schema.GroupKind{Group: "apps", Kind: "Deployment"}, "web", errs))
	}
	forbidden := apierrors.NewForbidden(schema.GroupResource{Group: "apps", Resource: "replicasets"}, "web-1",
		errors.New("ValidatingAdmissionPolicy 'p' with binding 'p' denied request: no ReplicaSets without a cost centre"))
	forbidden.ErrStatus.Details.Causes = []metav1.StatusCause{{Message: "no ReplicaSets without a cost centre"}}
	tests := map[string]struct {
		err  error
		want string
	}{
		"a policy, by name": {
			fmt.Errorf("create ReplicaSet: %w", forbidden),
			`replicasets.apps "web-1" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'p' denied request: no ReplicaSets without a cost centre`,
		},
		"a value that is quoted": {
			invalid(field.Invalid(env.Child("value"), `s"ecret: x`, "must be shorter")),
			`Deployment "web" is invalid: spec.template.spec.containers[0].env[0].value: invalid value: must be shorter`,
		},
		"a whole object": {
			invalid(field.Invalid(env, map[string]string{"value": "secret"}, "is odd")),
			`Deployment "web" is invalid: spec.template.spec.containers[0].env[0]: invalid value: is odd`,
		},
		"what is none of them": {
			invalid(field.NotSupported(env.Child("name"), "secret", []string{"a", "b"}), field.Required(env, "give one")),
			`Deployment "web" is invalid: spec.template.spec.containers[0].env[0].name: unsupported value: supported values: "a", "b"; ` +
				`spec.template.spec.containers[0].env[0]: Required value: give one`,
		},
		"no value that can be told from the rest": {
			invalid(&field.Error{Type: field.ErrorTypeInvalid, Field: env.String(), BadValue: func() {}, Detail: "x"}),
			`Deployment "web" is invalid: spec.template.spec.containers[0].env[0]: invalid value`,
		},
		"no answer of an API server": {errors.New("no route to host"), "no route to host"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Refusal(test.err); got != test.want {
				t.Errorf("Refusal = %s\nwant      %s", got, test.want)
			}
		})
	}
}
