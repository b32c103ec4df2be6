package authz_test

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cedar-policy/cedar-go"
	"github.com/cedar-policy/cedar-go/types"
	"github.com/cedar-policy/cedar-go/x/exp/ast"
	"github.com/cedar-policy/cedar-go/x/exp/schema"
	"github.com/cedar-policy/cedar-go/x/exp/schema/validate"
	"github.com/google/go-cmp/cmp"

	"sperrd/policies"
)

// newValidator checks strictly against policies/sperrd.cedarschema.
func newValidator(t *testing.T) *validate.Validator {
	t.Helper()
	text, err := os.ReadFile("../../policies/sperrd.cedarschema")
	if err != nil {
		t.Fatal(err)
	}
	var s schema.Schema
	if err := s.UnmarshalCedar(text); err != nil {
		t.Fatal(err)
	}
	resolved, err := s.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	var declared []string
	for uid := range maps.Keys(resolved.Actions) {
		declared = append(declared, string(uid.ID))
	}
	slices.Sort(declared)
	if diff := cmp.Diff(slices.Sorted(slices.Values(actions)), declared); diff != "" {
		t.Errorf("actions of the schema (-want +got):\n%s", diff)
	}
	return validate.New(resolved, validate.WithStrict())
}

func validatePolicies(t *testing.T, text []byte) error {
	t.Helper()
	set, err := cedar.NewPolicySetFromBytes("sperrd.cedar", text)
	if err != nil {
		t.Fatal(err)
	}
	v := newValidator(t)
	for id, policy := range set.All() {
		if err := v.Policy(string(id), (*ast.Policy)(policy.AST())); err != nil {
			return err
		}
	}
	return nil
}

func TestPolicies_fit_their_schema(t *testing.T) {
	t.Parallel()
	if err := validatePolicies(t, policies.Sperrd); err != nil {
		t.Error(err)
	}
	for _, misspelling := range [][2]string{{"principal_tenant", "principal_tennant"}, {"is User", "is Usr"}, {`"cancel-sperr-order"`, `"cancel"`}} {
		broken := strings.ReplaceAll(string(policies.Sperrd), misspelling[0], misspelling[1])
		if err := validatePolicies(t, []byte(broken)); err == nil {
			t.Errorf("%s passes for %s", misspelling[1], misspelling[0])
		}
	}
}

func TestRequests_fit_the_schema(t *testing.T) {
	t.Parallel()
	v := newValidator(t)
	for _, action := range actions {
		err := v.Request(types.Request{
			Principal: types.NewEntityUID("User", "u"), Action: types.NewEntityUID("Action", types.String(action)),
			Resource: types.NewEntityUID("Resource", tenant),
			Context: types.NewRecord(types.RecordMap{
				"principal_tenant": types.String(tenant), "principal_roles": types.NewSet(types.String("NB")), "resource_tenant": types.String(tenant),
			}),
		})
		if err != nil {
			t.Errorf("%s: %v", action, err)
		}
	}
}
