package authz_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"sperrd/internal/authz"
	"sperrd/policies"
)

const (
	tenant = "9900357000004"
	other  = "9900012345678"
)

var actions = []string{"read-sperr-order", "create-sperr-order", "execute-sperr-order", "cancel-sperr-order"}

func newAuthorizer(t *testing.T, policies string, actions ...string) *authz.Authorizer {
	t.Helper()
	a, err := authz.New("test.cedar", []byte(policies), actions)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func request(action string, roles ...string) authz.Request {
	return authz.Request{Subject: "u", Tenant: tenant, Roles: roles, Action: action, Deployment: tenant}
}

func TestNB_of_this_tenant_may_do_all_four(t *testing.T) {
	t.Parallel()
	a := newAuthorizer(t, string(policies.Sperrd), actions...)
	many := make([]string, 10_000)
	for i := range many {
		many[i] = fmt.Sprint("role-", i)
	}
	for _, action := range actions {
		for name, roles := range map[string][]string{"NB": {"NB"}, "NB among others": {"LF", "NB"}, "NB twice": {"NB", "NB"}, "NB last of 10,001": append(many, "NB")} {
			if err := a.Authorize(request(action, roles...)); err != nil {
				t.Errorf("%s with %s: %v", action, name, err)
			}
		}
	}
}

func TestWhatever_is_not_permitted_is_denied(t *testing.T) {
	t.Parallel()
	a := newAuthorizer(t, string(policies.Sperrd), actions...)
	with := func(change func(*authz.Request)) authz.Request {
		r := request("read-sperr-order", "NB")
		change(&r)
		return r
	}
	for name, r := range map[string]authz.Request{
		"role LF":              request("execute-sperr-order", "LF"),
		"no role":              request("read-sperr-order"),
		"an empty role":        request("read-sperr-order", ""),
		"role in small":        request("read-sperr-order", "nb"),
		"role with a blank":    request("read-sperr-order", "NB "),
		"all roles in one":     request("read-sperr-order", "LF,NB"),
		"another action":       request("use-mcp", "NB"),
		"no action":            request("", "NB"),
		"action in capitals":   request("READ-SPERR-ORDER", "NB"),
		"foreign tenant":       with(func(r *authz.Request) { r.Tenant = other }),
		"no tenant":            with(func(r *authz.Request) { r.Tenant = "" }),
		"tenant with a blank":  with(func(r *authz.Request) { r.Tenant = tenant + " " }),
		"foreign deployment":   with(func(r *authz.Request) { r.Deployment = other }),
		"tenant as its own ID": with(func(r *authz.Request) { r.Subject, r.Tenant = tenant, "" }),
	} {
		err := a.Authorize(r)
		denial, ok := errors.AsType[*authz.Denial](err)
		if !errors.Is(err, authz.ErrForbidden) || !ok || denial.Failed {
			t.Errorf("%s: %v, want a denial by the policies", name, err)
		}
		if err != nil && (strings.Contains(err.Error(), tenant) || strings.Contains(err.Error(), other)) {
			t.Errorf("%s: the denial tells a tenant: %v", name, err)
		}
	}
	if n := a.Failures(); n != 0 {
		t.Errorf("%d evaluations failed", n)
	}
}

// permitAll permits read to everybody.
const permitAll = `permit (principal, action == Action::"read", resource);`

func TestPolicy_that_cannot_be_evaluated_is_a_denial_and_counted(t *testing.T) {
	t.Parallel()
	for name, policy := range map[string]string{
		"permit, misspelt attribute": `permit (principal, action == Action::"read", resource) when { context.principal_tennant == "x" };`,
		"forbid beside a permit":     permitAll + `forbid (principal, action, resource) when { context.principal_rolls.contains("LF") };`,
		"wrong type":                 permitAll + `forbid (principal, action, resource) when { context.principal_tenant.contains("x") };`,
		"entity without attributes":  permitAll + `forbid (principal, action, resource) when { principal.locked };`,
	} {
		a := newAuthorizer(t, policy, "read")
		for count := range int64(2) {
			err := a.Authorize(request("read", "NB"))
			denial, ok := errors.AsType[*authz.Denial](err)
			if !errors.Is(err, authz.ErrForbidden) || !ok || !denial.Failed {
				t.Errorf("%s: %v, want a denial for want of a decision", name, err)
			}
			if got := a.Failures(); got != count+1 {
				t.Errorf("%s: %d failures counted, want %d", name, got, count+1)
			}
		}
	}
}

func TestForbid_stands_above_permit(t *testing.T) {
	t.Parallel()
	a := newAuthorizer(t, permitAll+`forbid (principal == User::"locked", action, resource);`, "read")
	if err := a.Authorize(request("read")); err != nil {
		t.Error(err)
	}
	r := request("read")
	r.Subject = "locked"
	if err := a.Authorize(r); !errors.Is(err, authz.ErrForbidden) {
		t.Errorf("forbidden subject: %v", err)
	}
}

func TestPolicies_that_cannot_be_right_are_refused_with_what_is_wrong(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ policies, want string }{
		"not Cedar":             {`permit (principal, action == Action::"read", resource`, "test.cedar"},
		"nothing at all":        {``, `none of them permits "read"`},
		"comment only":          {"// permit (principal, action == Action::\"read\", resource);", `none of them permits "read"`},
		"only a forbid":         {`forbid (principal, action == Action::"read", resource);`, `none of them permits "read"`},
		"another action":        {permitAll + `permit (principal, action == Action::"use-mcp", resource);`, `"use-mcp", which nothing asks for`},
		"misspelt action":       {`permit (principal, action in [Action::"raed"], resource);`, `"raed", which nothing asks for`},
		"every action":          {permitAll + `permit (principal, action, resource);`, "permits every action"},
		"a group of actions":    {`permit (principal, action in Action::"all", resource);`, `"all", which nothing asks for`},
		"an empty list":         {permitAll + `permit (principal, action in [], resource);`, "permits every action"},
		"what is no action":     {permitAll + `permit (principal, action == Aktion::"read", resource);`, "no action"},
		"one action of several": {`permit (principal, action in [Action::"read", Action::"write"], resource);`, `"write"`},
	} {
		_, err := authz.New("test.cedar", []byte(c.policies), []string{"read"})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "test.cedar") {
			t.Errorf("%s: %v, want it to say %s", name, err, c.want)
		}
	}
}
