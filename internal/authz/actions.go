package authz

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/cedar-policy/cedar-go"
)

// scope is the part of a policy that names its actions, in Cedar's JSON form.
type scope struct {
	Effect string `json:"effect"`
	Action struct {
		Op       string   `json:"op"`
		Entity   *entity  `json:"entity"`
		Entities []entity `json:"entities"`
	} `json:"action"`
}

type entity struct {
	Type string `json:"type"`
	ID   string `json:"id"`
}

// checkActions compares the actions that the policies permit with those that are
// asked for.
func checkActions(set *cedar.PolicySet, asked []string) error {
	var permitted []string
	for id, policy := range set.All() {
		named, err := permittedActions(policy)
		if err != nil {
			return fmt.Errorf("%s: %w", id, err)
		}
		permitted = append(permitted, named...)
	}
	for _, action := range permitted {
		if !slices.Contains(asked, action) {
			return fmt.Errorf("they permit %q, which nothing asks for", action)
		}
	}
	for _, action := range asked {
		if !slices.Contains(permitted, action) {
			return fmt.Errorf("none of them permits %q, which would be denied to everybody", action)
		}
	}
	return nil
}

// permittedActions are the actions that a policy names if it permits, each by itself: a
// group of actions would be known to the entities only, of which there are none.
func permittedActions(policy *cedar.Policy) ([]string, error) {
	text, err := policy.MarshalJSON()
	if err != nil {
		return nil, err
	}
	var s scope
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, err
	}
	if s.Effect != "permit" {
		return nil, nil
	}
	named := s.Action.Entities
	if s.Action.Entity != nil {
		named = append(named, *s.Action.Entity)
	}
	if len(named) == 0 {
		return nil, fmt.Errorf("it permits every action (%s): name them", s.Action.Op)
	}
	var actions []string
	for _, e := range named {
		if e.Type != typeAction {
			return nil, fmt.Errorf("%s::%q is no action", e.Type, e.ID)
		}
		actions = append(actions, e.ID)
	}
	return actions, nil
}
