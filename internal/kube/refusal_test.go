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

// token is a value that JSON can't hold and whose text begins with a number.
type token struct{}

func (token) MarshalJSON() ([]byte, error) { return nil, errors.New("not to be written") }
func (token) String() string               { return "12hunter2" }

func TestRefusal(t *testing.T) {
	t.Parallel()
	env := field.NewPath("spec", "template", "spec", "containers").Index(0).Child("env").Index(0)
	invalid := func(errs ...*field.Error) error {
		return fmt.Errorf("patch Deployment: %w", apierrors.NewInvalid(schema.GroupKind{Group: "apps", Kind: "Deployment"}, "web", errs))
	}
	// causing is a refusal whose whole sentence nobody may see.
	causing := func(by string, causes ...metav1.StatusCause) error {
		err := apierrors.NewInvalid(schema.GroupKind{Group: "apps", Kind: "Deployment"}, "web", nil)
		err.ErrStatus.Message, err.ErrStatus.Details.Causes = by+"hunter2", causes
		return err
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
				`spec.template.spec.containers[0].env[0]: required value: give one`,
		},
		"no value that can be told from the rest": {
			invalid(&field.Error{Type: field.ErrorTypeInvalid, Field: env.String(), BadValue: func() {}, Detail: "x"}),
			`Deployment "web" is invalid: spec.template.spec.containers[0].env[0]: invalid value`,
		},
		"a value that the detail has, too": {
			invalid(field.Invalid(env.Child("value"), "hunter2", `field label not supported: hunter2`)),
			`Deployment "web" is invalid: spec.template.spec.containers[0].env[0].value: invalid value`,
		},
		"an object of which the detail has a part": {
			invalid(field.Duplicate(env, map[string]any{"a": []string{"hunter2"}}), field.TypeInvalid(env, []any{map[string]any{"v": "hunter2"}}, "not 'hunter2'")),
			`Deployment "web" is invalid: spec.template.spec.containers[0].env[0]: duplicate value; spec.template.spec.containers[0].env[0]: invalid value`,
		},
		"part of another word": {
			invalid(field.Invalid(env.Child("name"), "lo", "must be lower case, hello")),
			`Deployment "web" is invalid: spec.template.spec.containers[0].env[0].name: invalid value: must be lower case, hello`,
		},
		"too many of a list": {
			invalid(field.TooMany(env, 7, 5)),
			`Deployment "web" is invalid: spec.template.spec.containers[0].env[0]: too many: must have at most 5 items`,
		},
		"a value that only begins as JSON does": {
			invalid(&field.Error{Type: field.ErrorTypeInvalid, Field: env.String(), BadValue: token{}, Detail: "x"}),
			`Deployment "web" is invalid: spec.template.spec.containers[0].env[0]: invalid value`,
		},
		"an error of the API server's own": {
			invalid(field.InternalError(env, errors.New("converting hunter2"))),
			`Deployment "web" is invalid: spec.template.spec.containers[0].env[0]: internal error`,
		},
		"a rule of a CRD of ours, of which the API server leaves the value out": {
			apierrors.NewInvalid(schema.GroupKind{Group: "rollouts.sluice.dev", Kind: "BatchRelease"}, "web", field.ErrorList{
				field.Invalid(field.NewPath("spec"), field.OmitValueType{}, "workloadRef is immutable: make a new one"),
				field.Invalid(field.NewPath("spec", "template"), map[string]any{"x": "hunter2"}, "is odd"),
			}),
			`BatchRelease "web" is invalid: spec: invalid value: workloadRef is immutable: make a new one; spec.template: invalid value: is odd`,
		},
		"a rule of another CRD": {
			invalid(field.Invalid(env, field.OmitValueType{}, "hunter2 is no value")),
			`Deployment "web" is invalid: spec.template.spec.containers[0].env[0]: invalid value`,
		},
		"a type that is not known, in a sentence that looks like another": {
			causing("", metav1.StatusCause{Type: "FieldValueOdd", Field: "spec", Message: "Required value: hunter2"}),
			`Deployment "web" is invalid: spec: refused`,
		},
		"a sentence that is not the type's": {
			causing("", metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid, Field: "spec", Message: "Wert ungültig: hunter2"},
				metav1.StatusCause{Type: metav1.CauseTypeFieldValueRequired, Field: "spec", Message: "hunter2"}),
			`Deployment "web" is invalid: spec: invalid value; spec: required value`,
		},
		"a value of no field": {
			causing("", metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid, Message: `Invalid value: "hunter2": is odd`}),
			`Deployment "web" is invalid: invalid value: is odd`,
		},
		"a field of no type": {
			causing("", metav1.StatusCause{Field: "spec", Message: `Invalid value: "hunter2": is odd`}), `Deployment "web" is invalid: spec: refused`,
		},
		"a webhook that validates as the API server does": {
			causing(`admission webhook "a.b" denied the request: `, metav1.StatusCause{
				Type: metav1.CauseTypeFieldValueInvalid, Field: "spec", Message: `Invalid value: "hunter2": is odd`,
			}),
			`admission webhook "a.b" denied the request: Deployment "web" is invalid: spec: invalid value: is odd`,
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
