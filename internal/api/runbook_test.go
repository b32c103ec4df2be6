package api_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// Two tenants may share a database: what the runbook has an operator change must be one row
// by its id, or rows of one tenant.
func TestRunbook_changes_the_rows_of_one_tenant_alone(t *testing.T) {
	t.Parallel()
	runbook, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	statements := regexp.MustCompile("(?:UPDATE|DELETE FROM) [a-z_]+[^;`]*").FindAllString(string(runbook), -1)
	if len(statements) < 4 {
		t.Errorf("%d statements were found: %q", len(statements), statements)
	}
	selects := regexp.MustCompile(`\b(tenant|id) = |^ …`)
	for _, statement := range statements {
		if _, where, _ := strings.Cut(statement, "WHERE"); !selects.MatchString(where) {
			t.Errorf("every tenant's: %s", statement)
		}
	}
}
