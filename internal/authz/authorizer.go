package authz

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/cedar-policy/cedar-go"
)

// ErrForbidden is the kind of every denial.
var ErrForbidden = errors.New("forbidden")

// Denial is why a request was denied, for the log: it names nothing of the caller.
// It is an ErrForbidden.
type Denial struct {
	// Failed says that a policy could not be evaluated. Its decision would be
	// missing in the result, and a forbid that is missing permits: so that is a
	// denial, whatever the other policies say.
	Failed bool
	reason string
}

func (d *Denial) Error() string { return d.reason }

// Unwrap returns ErrForbidden.
func (d *Denial) Unwrap() error { return ErrForbidden }

// Request is one question to the policies.
type Request struct {
	Subject string   // of the token
	Tenant  string   // of the token, empty where it has none
	Roles   []string // of the token
	Action  string   // of the route
	// Deployment is the tenant whose orders these are.
	Deployment string
}

// Authorizer answers by a fixed set of policies. It is safe for concurrent use.
type Authorizer struct {
	policies *cedar.PolicySet
	failures atomic.Int64
}

// New reads the policies, of a file of this name. actions are what the routes ask
// for. Policies that cannot be parsed, that permit an action which no route asks for or
// every action without a name, or that permit one of actions nowhere, so that it would
// be denied forever, are an error.
func New(name string, policies []byte, actions []string) (*Authorizer, error) {
	set, err := cedar.NewPolicySetFromBytes(name, policies)
	if err != nil {
		return nil, fmt.Errorf("policies of %s: %w", name, err)
	}
	if err := checkActions(set, actions); err != nil {
		return nil, fmt.Errorf("policies of %s: %w", name, err)
	}
	return &Authorizer{policies: set}, nil
}

// The types of the entities, as the policies spell them.
const (
	typeUser     = "User"
	typeAction   = "Action"
	typeResource = "Resource"
)

// Authorize is nil where a policy permits the request; every other error is a
// *Denial.
func (a *Authorizer) Authorize(r Request) error {
	roles := make([]cedar.Value, len(r.Roles))
	for i, role := range r.Roles {
		roles[i] = cedar.String(role)
	}
	decision, diagnostic := cedar.Authorize(a.policies, cedar.EntityMap{}, cedar.Request{
		Principal: cedar.NewEntityUID(typeUser, cedar.String(r.Subject)),
		Action:    cedar.NewEntityUID(typeAction, cedar.String(r.Action)),
		Resource:  cedar.NewEntityUID(typeResource, cedar.String(r.Deployment)),
		Context: cedar.NewRecord(cedar.RecordMap{
			"principal_tenant": cedar.String(r.Tenant),
			"principal_roles":  cedar.NewSet(roles...),
			"resource_tenant":  cedar.String(r.Deployment),
		}),
	})
	if len(diagnostic.Errors) > 0 {
		return &Denial{Failed: true, reason: fmt.Sprintf("%d policies could not be evaluated, which has happened to %d requests since the start: %s",
			len(diagnostic.Errors), a.failures.Add(1), messages(diagnostic.Errors))}
	}
	if decision != cedar.Allow {
		return &Denial{reason: "no policy permits " + r.Action + " to a caller of this tenant and these roles"}
	}
	return nil
}

// Failures is how many requests were denied since the start because a policy could
// not be evaluated.
func (a *Authorizer) Failures() int64 { return a.failures.Load() }

func messages(errs []cedar.DiagnosticError) string {
	parts := make([]string, len(errs))
	for i, err := range errs {
		parts[i] = string(err.PolicyID) + ": " + err.Message
	}
	return strings.Join(parts, "; ")
}
